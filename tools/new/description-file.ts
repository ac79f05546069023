// What the types of a new kind are for, as the document says it or in few words: a file of src/api/descriptions, and its lines in the list.
import type { TypeSchema } from '../../src/apimachinery/json.ts';
import type { ImportedKind } from './openapi-types.ts';
import { camel, kebab, type Tree } from './tree.ts';

const folder = 'src/api/descriptions';
/** Said once for all kinds and all lists. */
const shared = ['apiVersion', 'kind', 'metadata'];

const prefixOf = (type: string): string => type.slice(0, type.lastIndexOf('.') + 1);

/** One line, a sentence, and nothing that ends a template literal. */
function lineOf(name: string, text: string): string {
  const plain = text
    .trim()
    .replace(/\s+/g, ' ')
    .replaceAll('\\', '\\\\')
    .replace(/`/g, "'")
    .replace(/\$\{/g, '$ {');
  return `${name}: ${plain.endsWith('.') ? plain : `${plain}.`}\n`;
}

function typeText(
  type: string,
  { fields, gvk }: TypeSchema,
  { descriptions, gvk: { kind } }: ImportedKind,
): string {
  if (gvk !== undefined && type.endsWith('List') && fields?.['items'] !== undefined) return '';
  const short = type.slice(prefixOf(type).length);
  const own = descriptions.get(type) ?? (gvk === undefined ? `A part of ${kind}` : `The kind ${kind}`);
  const lines = Object.keys(fields ?? {})
    .filter((field) => gvk === undefined || !shared.includes(field))
    .map((field) => lineOf(`  ${field}`, descriptions.get(`${type}.${field}`) ?? `The field ${field}`));
  return `${lineOf(short, own)}${lines.join('')}\n`;
}

export function addDescriptions(tree: Tree, imported: ImportedKind, module: string): void {
  const { kind } = imported.gvk;
  const file = `${kebab(kind)}-${module}`;
  const byPrefix = [...Map.groupBy(imported.types, ([type]) => prefixOf(type))].map(
    ([prefix, types], i) =>
      [
        prefix,
        `${camel(file)}${i === 0 ? '' : i}`,
        types.map(([name, type]) => typeText(name, type, imported)).join(''),
      ] as const,
  );
  const constants = byPrefix.map(
    ([, name, text]) => `export const ${name}: string = \`\n${text.trimEnd()}\n\`;\n`,
  );
  tree.create(
    `${folder}/${file}.ts`,
    `// What the types of the kind ${kind} are for.\n${constants.join('\n')}`,
  );
  const list = `${folder}/description-texts.ts`;
  tree.addImport(list, `import { ${byPrefix.map(([, name]) => name).join(', ')} } from './${file}.ts';`);
  const lines = byPrefix.map(([prefix, name]) => `  ['${prefix}', ${name}],\n`);
  tree.edit(list, (text) => text.replace(/^\];$/m, () => `${lines.join('')}];`));
}
