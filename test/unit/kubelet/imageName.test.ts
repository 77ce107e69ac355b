// Names of images: what is taken, what gets a tag, what is refused before any registry is asked.
import { describe, expect, test } from 'vitest';
import { repositoryOf, withDefaultTag } from '../../../src/kubelet/imageName.js';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('the name of an image', () => {
  test.each([
    ['busybox', 'busybox:latest'],
    ['busybox:1.36', 'busybox:1.36'],
    ['localhost:5000/a/b', 'localhost:5000/a/b:latest'],
    ['Registry.Example.COM/team/app_x--y.z:V1', 'Registry.Example.COM/team/app_x--y.z:V1'],
    ['[fd00::1]:5000/app', '[fd00::1]:5000/app:latest'],
    [`app@${DIGEST}`, `app@${DIGEST}`],
    [`app:v1@${DIGEST}`, `app:v1@${DIGEST}`],
  ])('%s is taken', (given, name) => {
    expect(withDefaultTag(given)).toBe(name);
  });

  test.each([
    ['nothing', ''],
    ['a space around it', ' app'],
    ['capitals in the path', 'UPPER:v1'],
    ['two tags', 'a:b:c'],
    ['an empty tag', 'app:'],
    ['a short digest', 'app@sha256:00'],
    ['a way upward', '../../etc/passwd'],
    ['an end of path', 'registry.local/'],
    ['a hostile length', `${'a-'.repeat(500_000)}`],
  ])('%s is refused', (_, given) => {
    expect(() => withDefaultTag(given)).toThrow(/couldn't parse image name/);
    expect(repositoryOf(given)).toBeUndefined();
  });

  test.each([
    ['busybox', 'busybox'],
    ['localhost:5000/a/b', 'localhost:5000/a/b'],
    ['[fd00::1]:5000/app:v1', '[fd00::1]:5000/app'],
    [`app:v1@${DIGEST}`, 'app'],
  ])('the repository of %s is %s', (given, repository) => {
    expect(repositoryOf(given)).toBe(repository);
  });
});
