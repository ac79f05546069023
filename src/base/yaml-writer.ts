// Writes JSON values as YAML in one pass, as Go's sigs.k8s.io/yaml lays it out: keys in order, lists not indented.
import { isWorthIndenting } from './indentation.ts';

/** Plain scalars that no YAML 1.1 or 1.2 reader takes for anything but this text. */
const plain = /^[A-Za-z_/][\w./-]*(?:[: ][\w./-]+)*$/;
const notText =
  /^(?:y|n|yes|no|on|off|true|false|null|Y|N|Yes|No|On|Off|True|False|Null|YES|NO|ON|OFF|TRUE|FALSE|NULL)$/;
/** JSON leaves them as they are, YAML forbids them. */
const unprintable = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
/** Lines that a literal block keeps as they are. */
const literal = /^(?:[\u0021-\u007e][\u0020-\u007e]*)?(?:\n[\u0020-\u007e]*)+$/;

const flow = (value: unknown): string =>
  JSON.stringify(value).replaceAll(unprintable, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const quoted: (text: string) => string = flow;

function textOf(text: string, indent: string): string {
  if (plain.test(text) && !notText.test(text)) return text;
  return text.includes('\n') && literal.test(text) ? blockOf(text, indent) : quoted(text);
}

function blockOf(text: string, indent: string): string {
  const lines = text.split('\n');
  const ends = lines.at(-1) === '';
  // Blank ends need a hint of their own, and a first line that is blank hides the indentation.
  if (lines[0] === '' || (ends && lines.at(-2) === '')) return quoted(text);
  if (ends) lines.pop();
  return `${ends ? '|' : '|-'}\n${lines.map((line) => (line === '' ? '' : indent + line)).join('\n')}`;
}

const keyOf = (key: string): string => (plain.test(key) && !notText.test(key) ? key : quoted(key));

/** Scalars and empty collections stand behind their key; what has parts begins a line of its own. */
function inline(value: unknown, indent: string): string | undefined {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return textOf(value, indent);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? '[]' : undefined;
  for (const key in value) if ((value as Record<string, unknown>)[key] !== undefined) return undefined;
  return '{}';
}

function list(items: readonly unknown[], indent: string): string {
  let out = '';
  for (const item of items) {
    const short = inline(item, `${indent}  `);
    // The first line of what has parts stands behind the dash.
    out += `${indent}- ${short === undefined ? block(item, `${indent}  `).slice(indent.length + 2) : `${short}\n`}`;
  }
  return out;
}

function map(object: Readonly<Record<string, unknown>>, indent: string): string {
  let out = '';
  for (const key of Object.keys(object).sort()) {
    const value = object[key];
    if (value === undefined) continue;
    const short = inline(value, `${indent}  `);
    if (short !== undefined) out += `${indent}${keyOf(key)}: ${short}\n`;
    else out += `${indent}${keyOf(key)}:\n${block(value, Array.isArray(value) ? indent : `${indent}  `)}`;
  }
  return out;
}

const block = (value: unknown, indent: string): string =>
  Array.isArray(value) ? list(value, indent) : map(value as Record<string, unknown>, indent);

/** What would be little else than spaces is written as JSON, which is YAML, too. */
export function writeYaml(value: unknown): string {
  if (!isWorthIndenting(value)) return `${flow(value)}\n`;
  const short = inline(value, '  ');
  return short === undefined ? block(value, '') : `${short}\n`;
}

/** As the only element of a list. */
export const writeYamlItem = (value: unknown): string =>
  isWorthIndenting(value) ? list([value], '') : `- ${flow(value)}\n`;
