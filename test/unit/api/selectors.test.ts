// Selectors: what they pick, how they print, and how they are refused.
import { describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import {
  compileFieldSelector,
  compileLabelSelector,
  formatLabelSelector,
  labelSelectorString,
  parseLabelSelector,
  selectorFromMap,
} from '../../../src/api/selectors.js';
import { ApiError } from '../../../src/api/status.js';

describe('label selectors as text', () => {
  test.each([
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'c' }, false],
    ['a = b , c', { a: 'b', c: '' }, true],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a in (b,c)', { a: 'c' }, true],
    ['a in (b,c)', {}, false],
    ['a notin (b,c)', {}, true],
    ['a notin (b)', { a: 'b' }, false],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['!a,b', { b: '1' }, true],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a>4', { a: '5' }, true],
    ['a>5', { a: '5' }, false],
    ['a<6', { a: '5' }, true],
    ['a<5', { a: '5' }, false],
    ['in in (in)', { in: 'in' }, true],
    ['a in (,b)', { a: '' }, true],
    ['a>5', { a: '6' }, true],
    ['a<5', { a: '6' }, false],
    ['a>5', { a: 'x' }, false],
    ['app.kubernetes.io/name=web', { 'app.kubernetes.io/name': 'web' }, true],
    ['constructor', {}, false],
  ])('%s on %j is %s', (text, labels, expected) => {
    expect(parseLabelSelector(text)(labels)).toBe(expected);
  });

  test.each([
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in (b', "unable to parse requirement: found '', expected: ',', or ')'"],
    ['a,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])('%s is refused', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
    expect(refusalOf(() => parseLabelSelector(text)).code).toBe(400);
  });

  test('names the bad key and the bad value', () => {
    expect(() => parseLabelSelector('-a=b')).toThrow(
      'unable to parse requirement: <nil>: Invalid value: "-a": name part must',
    );
    expect(() => parseLabelSelector('a=b_')).toThrow(
      'values[0][a]: Invalid value: "b_": a valid label must be',
    );
  });
});

describe('LabelSelector objects', () => {
  const selector = {
    matchLabels: { b: '1' },
    matchExpressions: [
      { key: 'c', operator: 'In', values: ['y', 'x'] },
      { key: 'a', operator: 'DoesNotExist' },
    ],
  };

  test('select what every part selects', () => {
    const matches = compileLabelSelector(selector);
    expect(matches({ b: '1', c: 'x' })).toBe(true);
    expect(matches({ b: '1', c: 'x', a: '' })).toBe(false);
    expect(matches(undefined)).toBe(false);
  });

  test('select nothing when absent, everything when empty', () => {
    expect(compileLabelSelector(undefined)({})).toBe(false);
    expect(compileLabelSelector({})(undefined)).toBe(true);
    expect(selectorFromMap({ a: 'b' })({ a: 'b' })).toBe(true);
  });

  test('print in the order of their keys', () => {
    expect(labelSelectorString(selector)).toBe('!a,b=1,c in (x,y)');
    expect(labelSelectorString({})).toBe('');
    expect(formatLabelSelector(undefined)).toBe('<none>');
    expect(formatLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Near' }] })).toBe('<error>');
  });

  test('refuse operators that are none', () => {
    const broken = { matchExpressions: [{ key: 'a', operator: 'Near' }] };
    expect(() => compileLabelSelector(broken)).toThrow('"Near" is not a valid label selector operator');
  });
});

describe('field selectors', () => {
  const kind = { fields: (pod: V1Pod) => ({ 'spec.nodeName': pod.spec?.nodeName ?? '' }) };
  const pod: V1Pod = { metadata: { name: 'p', namespace: 'd' }, spec: { nodeName: 'n,1', containers: [] } };

  test.each([
    ['', true],
    ['metadata.name=p', true],
    ['metadata.name==p,metadata.namespace!=d', false],
    ['spec.nodeName=n\\,1', true],
    ['spec.nodeName!=', true],
    ['spec.nodeName=', false],
  ])('%s on the pod is %s', (text, expected) => {
    expect(compileFieldSelector(text, kind).matches(pod)).toBe(expected);
  });

  test('refuse fields that the kind does not offer, and text that is no selector', () => {
    expect(() => compileFieldSelector('spec.x=1', kind)).toThrow('field label not supported: spec.x');
    expect(() => compileFieldSelector('constructor=1', kind)).toThrow(
      'field label not supported: constructor',
    );
    expect(() => compileFieldSelector('spec.x=1', {})).toThrow(
      '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
    expect(() => compileFieldSelector('a', kind)).toThrow("invalid selector: 'a'; can't understand 'a'");
  });
});

function refusalOf(run: () => unknown): ApiError {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  throw new Error('it was not refused');
}
