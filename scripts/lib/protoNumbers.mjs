// The numbers of fields, read from published .proto files into the table that the apiserver's protobuf is made of. Pure.
// Guarantees: the same files and schemas give the same table; only names and numbers are kept; a field of a schema whose
// message has no number for it is told, not left out in silence.

/** Fields of a JSON schema, which are no names of Go. */
const schemaName = (name) =>
  name === 'schema' || name === 'ref'
    ? `$${name}`
    : name.replace(/^xKubernetes.*/, (text) =>
        text.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      );

/** What the table marks of a field, by the message that it is. */
const MARKS = {
  'k8s.io.apimachinery.pkg.api.resource.Quantity': 'q',
  JSONSchemaPropsOrArray: 'a',
  JSONSchemaPropsOrBool: 'o',
  JSONSchemaPropsOrStringArray: 'd',
};

/** Messages by their full names: each a map from the names of its fields to `{ number, type }`. */
export function readProto(text) {
  const messages = new Map();
  const bare = text.replace(/\/\/[^\n]*/g, '');
  const [, pkg = ''] = /^package ([\w.]+);/m.exec(bare) ?? [];
  for (const [, name, body] of bare.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const fields = new Map();
    const field = /^ {2}(?:optional |repeated )?(?:map<string, ([\w.]+)>|([\w.]+)) (\w+) = (\d+)[^\n]*;/gm;
    for (const [, ofMap, type, fieldName, number] of body.matchAll(field)) {
      const told = ofMap ?? type;
      const full = told.startsWith('.') ? told.slice(1) : `${pkg}.${told}`;
      fields.set(fieldName, { number: Number(number), type: full });
    }
    messages.set(`${pkg}.${name}`, fields);
  }
  return messages;
}

/**
 * The table: by model, its numbers as one text. `roots` are `[model, full name of the message]`; models below them are found
 * by their fields. `missing` are fields of schemas that have no number.
 */
export function numbersOf({ roots, schemas, messages }) {
  const table = new Map();
  const missing = [];
  const look = (model, message) => {
    if (table.has(model)) return;
    const fields = messages.get(message);
    if (fields === undefined) throw new Error(`no .proto file has ${message}, which ${model} is`);
    const left = new Set(Object.keys(schemas[model] ?? {}));
    writeFields(model, model, message);
    for (const name of ['apiVersion', 'kind']) left.delete(name);
    missing.push(...[...left].map((name) => `${model}.${name}`));

    function writeFields(key, model, message) {
      const words = [];
      const inner = [];
      table.set(key, '');
      const fields = [...messages.get(message)].sort(([, a], [, b]) => a.number - b.number);
      for (const [protoName, { number, type }] of fields) {
        const name = nameIn(
          schemas[model],
          lastOf(message) === 'JSONSchemaProps' ? schemaName(protoName) : protoName,
        );
        const code = schemas[model][name];
        if (code !== undefined) {
          left.delete(name);
          words.push(`${name}=${number}${markOf(type, messages.get(type))}`);
          const below = code.replace(/^!|\[\]|\{\}/g, '');
          if (schemas[below] !== undefined) inner.push(() => look(below, type));
        } else if (messages.has(type) && [...messages.get(type).keys()].some((one) => left.has(one))) {
          words.push(`+${name}=${number}`);
          inner.push(() => writeFields(`${key}+${name}`, model, type));
        }
      }
      table.set(key, words.join(' '));
      // Parts of this message first: what they hold is no longer missing then.
      for (const go of inner) go();
    }
  };
  for (const [model, message] of roots) look(model, message);
  return { table: new Map([...table].sort(([a], [b]) => (a < b ? -1 : 1))), missing };
}

/** Some names differ in their capitals alone: `uID`, `aPIGroup`, `port`. */
const nameIn = (schema, name) =>
  name in schema
    ? name
    : (Object.keys(schema).find((known) => known.toLowerCase() === name.toLowerCase()) ?? name);

const lastOf = (message) => message.split('.').at(-1);

function markOf(type, fields) {
  const mark = MARKS[type] ?? MARKS[lastOf(type)];
  if (mark !== undefined) return mark;
  if (fields === undefined) return '';
  if (fields.size === 0) return 'e';
  // A list that is the value of a map is a message of its own.
  return fields.size === 1 && fields.has('items') && lastOf(type) === 'ExtraValue' ? 'l' : '';
}
