// npm run new -- command <name>: a command with its help, its test and its line in the list.
import { checkName } from './names.ts';
import { camel, kebab, type Tree } from './tree.ts';

const command = (name: string): string => `// porthole ${name}: how many clusters this machine has.
import { Command } from 'commander';
import { clusterNames } from '../cluster/cluster-state.ts';
import { portholeHome } from '../setup/locations.ts';

export function ${camel(name)}Command(): Command {
  return new Command('${name}')
    .description('count the clusters of this machine')
    .action(() => console.log(${camel(name)}Text(clusterNames(portholeHome()))));
}

export const ${camel(name)}Text = (names: readonly string[]): string =>
  names.length === 1 ? '1 cluster' : \`\${names.length} clusters\`;
`;

const commandTest = (name: string): string => `// What \`porthole ${name}\` says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commands } from '../command-registry.ts';
import { ${camel(name)}Text } from './${name}.ts';

test('clusters are counted', () => {
  assert.deepEqual([[], ['a'], ['a', 'b']].map(${camel(name)}Text), ['0 clusters', '1 cluster', '2 clusters']);
});

test('--help says what it is for', async () => {
  const made = await commands.get('${name}')?.();
  assert.match(made?.helpInformation() ?? '', /^Usage: ${name} \\[options\\]\\n\\ncount the clusters/);
});
`;

export function newCommand(tree: Tree, { name: given }: { readonly name: string }): readonly string[] {
  checkName('name', given);
  const name = kebab(given);
  tree.create(`src/cmd/commands/${name}.ts`, command(name));
  tree.create(`src/cmd/commands/${name}.test.ts`, commandTest(name));
  tree.edit('src/cmd/command-registry.ts', (text) =>
    text.replace(
      /^ *\['version',.*$/m,
      (line) =>
        `  ['${name}', async () => (await import('./commands/${name}.ts')).${camel(name)}Command()],\n${line}`,
    ),
  );
  return [
    'a command reads its flags and calls what does the work; what is thrown is printed in one line, exit code 1',
  ];
}
