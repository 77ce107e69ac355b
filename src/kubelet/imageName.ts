// Names of images: their grammar, the default tag, the repository. Pure.
// Guarantees: a name that a runtime would not take is refused with InvalidImageName, in a time that its length bounds.
import { KubeletError } from './error.js';

// The grammar of image references: [domain[:port]/]path[:tag][@digest], lower case but for the domain, tag and digest.
const DOMAIN = String.raw`(?:\[[0-9a-fA-F:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*)(?::[0-9]+)?`;
const COMPONENT = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
const TAG = String.raw`[\w][\w.-]{0,127}`;
const DIGEST = `[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}`;
const REFERENCE = new RegExp(`^((?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*)(:${TAG})?(@${DIGEST})?$`);
/** Longer than any reference can be; keeps the match of a hostile name short. */
const LONGEST_REFERENCE = 1024;

/** `:latest` where neither tag nor digest is given. */
export function withDefaultTag(image: string): string {
  const [, repository, tag, digest] = match(image);
  if (repository === undefined)
    throw new KubeletError(
      'InvalidImageName',
      `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`,
    );
  return tag === undefined && digest === undefined ? `${image}:latest` : image;
}

/** The name without tag and digest, otherwise as it is written; undefined for what is no name. */
export const repositoryOf = (image: string): string | undefined => match(image)[1];

const match = (image: string) => (image.length <= LONGEST_REFERENCE && REFERENCE.exec(image)) || [];
