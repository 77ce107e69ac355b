// Builds the small initramfs that qemu's kernel starts from: a cpio archive, and which modules go in.
// Guarantees: pure; the archive is uncompressed "newc", which every kernel with an initrd can read.

const type = Object.freeze({ directory: 0o040755, file: 0o100755 });

/** `files` maps an absolute path to its bytes; the directories above them are added. */
export function cpio(files) {
  const paths = Object.keys(files);
  const directories = new Set(paths.flatMap(parents));
  const entries = [
    ...[...directories].sort().map((path) => entry(path, type.directory, Buffer.alloc(0))),
    ...paths.map((path) => entry(path, type.file, Buffer.from(files[path]))),
    entry('TRAILER!!!', 0, Buffer.alloc(0)),
  ];
  return Buffer.concat(entries);
}

function parents(path) {
  const parts = path.split('/').slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

// Fields after the magic, eight hexadecimal digits each: inode, mode, uid, gid, links, mtime, size,
// device (major, minor), special device (major, minor), length of the name with its NUL, checksum.
function entry(path, mode, bytes) {
  const name = path.replace(/^\//, '');
  const fields = [0, mode, 0, 0, 1, 0, bytes.length, 0, 0, 0, 0, Buffer.byteLength(name) + 1, 0];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([pad(Buffer.from(`${header}${name}\0`)), pad(bytes)]);
}

function pad(bytes) {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

/**
 * Paths of the wanted modules and of all they need, in an order in which insmod can load them.
 * `modulesDep` is the text of modules.dep; a wanted module not listed there is built in, or missing.
 */
export function moduleLoadOrder(modulesDep, wanted) {
  const needs = new Map();
  const byName = new Map();
  for (const line of modulesDep.split('\n')) {
    const [path, rest] = line.split(':');
    if (rest === undefined) continue;
    needs.set(path, rest.trim().split(/\s+/).filter(Boolean));
    byName.set(moduleName(path), path);
  }
  const order = new Set();
  const visit = (path) => {
    // modules.dep lists a module's needs outermost first, so the last is loaded first.
    for (const need of [...(needs.get(path) ?? [])].reverse()) if (!order.has(need)) visit(need);
    order.add(path);
  };
  for (const name of wanted) if (byName.has(name)) visit(byName.get(name));
  return [...order];
}

/** `kernel/net/9p/9pnet_virtio.ko.xz` is the module `9pnet_virtio`. */
export function moduleName(path) {
  return path.replace(/^.*\//, '').replace(/\.ko(\.\w+)?$/, '');
}
