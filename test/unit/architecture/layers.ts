// The layer rule of docs/ARCHITECTURE.md as data, and the function that finds what breaks it. Pure.
// Guarantees: a room that the table does not know is itself a violation, so the table cannot fall behind.

export interface SourceFile {
  /** Path from the root of the tree, such as `src/kubelet/pods.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Below every room: it imports nothing of ours. */
const FOUNDATION = 'base';

/** What each room may import besides itself and the foundation. Imports point downward, and siblings never meet. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  [FOUNDATION]: [],
  api: [],
  cel: ['api'],
  kernel: ['api'],
  client: ['kernel', 'api'],
  store: ['kernel', 'api'],
  cri: ['kernel', 'api'],
  cni: ['kernel', 'api'],
  kubelet: ['client', 'store', 'cri', 'cni', 'kernel', 'api'],
  proxy: ['proxy-modes', 'client', 'kernel', 'api'],
  network: ['client', 'cni', 'kernel', 'api'],
  dns: ['client', 'kernel', 'api'],
  scheduler: ['client', 'api'],
  controllers: ['client', 'api'],
  apiserver: ['client', 'store', 'cel', 'api'],
  cluster: [
    'kubelet',
    'proxy',
    'network',
    'dns',
    'scheduler',
    'controllers',
    'apiserver',
    'proxy-modes',
    'client',
    'store',
    'cri',
    'cni',
    'kernel',
    'api',
  ],
  doctor: ['kernel', 'api'],
  cli: [
    'cluster',
    'doctor',
    'kubelet',
    'proxy',
    'network',
    'dns',
    'scheduler',
    'controllers',
    'apiserver',
    'client',
    'store',
    'cri',
    'cni',
    'kernel',
    'api',
  ],
  'proxy-modes': ['kernel', 'api'],
};

/** Rooms that compute and never touch the world. */
const PURE_ROOMS = [FOUNDATION, 'api', 'cel'];
const ADDON = /\.node['"`]|node-gyp-build|(?:from |\()['"]bindings['"]|process\.dlopen/;

/** Each broken rule as a sentence. */
export function violations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const room = roomOf(file.path);
    const allowed = MAY_IMPORT[room];
    if (allowed === undefined) return [`${file.path}: the room ${room} is not in the layer table`];
    const broken = importsOf(file.text).flatMap((specifier) => {
      if (specifier.startsWith('node:') && PURE_ROOMS.includes(room))
        return [`is pure but imports ${specifier}`];
      if (!specifier.startsWith('.')) return [];
      const target = roomOf(resolve(file.path, specifier));
      return target === room || target === FOUNDATION || allowed.includes(target)
        ? []
        : [`imports ${target} (${specifier})`];
    });
    if (room !== 'kernel' && ADDON.test(file.text)) broken.push('loads a native addon');
    return broken.map((what) => `${file.path}: ${what}`);
  });
}

/** C++ sources outside native/addon, and the addon of tests that leaks, that include N-API headers. */
export function napiOutsideAddon(files: readonly SourceFile[]): string[] {
  return files
    .filter(
      ({ path, text }) =>
        !/^native\/(addon|test\/leaks)\//.test(path) &&
        /#\s*include\s*[<"](napi|node_api|node)\.h/.test(text),
    )
    .map(({ path }) => `${path}: includes an N-API header`);
}

/** Every specifier of a static import, re-export, dynamic import or require. */
export function importsOf(text: string): string[] {
  const patterns = [
    /\b(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/g,
    /\bimport\s*['"]([^'"]+)['"]/g,
    /\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''));
}

function roomOf(path: string): string {
  const [top = '', next = ''] = path.split('/');
  return top === 'src' ? next : top;
}

/** The path that a file names from where it stands. */
export function resolve(from: string, specifier: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
