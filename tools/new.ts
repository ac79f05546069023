// npm run new -- kind|controller|plugin|command: writes the files that the checklists of CONTRIBUTING.md name.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { JsonObject } from '../src/apimachinery/json.ts';
import { newCommand } from './new/command.ts';
import { newController } from './new/controller.ts';
import { newKind } from './new/kind.ts';
import { newPlugin } from './new/plugin.ts';
import { Tree } from './new/tree.ts';

const usage = `usage: npm run new -- <what> …
  kind <Kind> --group <group> [--version v1] [--cluster] [--plural <plural>]
  kind <Kind> --openapi <file.json> [--group <group>] [--version <version>] [--plural <plural>]
  controller <name> [--for <plural>]
  plugin scheduler|admission <name>
  command <name>`;

const options = {
  group: { type: 'string' },
  version: { type: 'string' },
  plural: { type: 'string' },
  openapi: { type: 'string' },
  for: { type: 'string', default: 'configmaps' },
  cluster: { type: 'boolean', default: false },
} as const;
const tree = new Tree(process.cwd());

/** What is left to do, in sentences; undefined for what is not understood. */
function write(): readonly string[] | undefined {
  const { positionals, values } = parseArgs({ allowPositionals: true, options });
  const [what, name, second, ...others] = positionals;
  if (name === undefined || others.length > 0) return undefined;
  if (what === 'plugin')
    return second !== undefined && (name === 'scheduler' || name === 'admission')
      ? newPlugin(tree, { name: second, of: name })
      : undefined;
  if (second !== undefined) return undefined;
  if (what === 'kind') {
    const { group, version, plural, openapi, cluster } = values;
    const document =
      openapi === undefined ? undefined : (JSON.parse(readFileSync(openapi, 'utf8')) as JsonObject);
    return newKind(tree, { kind: name, group, version, plural, document, isClusterScoped: cluster });
  }
  if (what === 'controller') return newController(tree, { name, for: values.for });
  if (what === 'command') return newCommand(tree, { name });
  return undefined;
}

try {
  const left = write();
  if (left === undefined) throw new Error(usage);
  tree.write();
  tree.format();
  for (const path of tree.touched) console.log(path);
  console.log(`\n${left.map((line) => `- ${line}`).join('\n')}\n- npm run check`);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  // Of a flag that there is not, parseArgs also says how to pass it on, which is of no use here.
  console.error(message.startsWith('Unknown option') ? message.split('. ')[0] : message);
  process.exitCode = 1;
}
