// What controllers ask of the server, read from their source: all of it is declared, and nothing is declared that none asks for.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { isDeclared, type Verb } from '../../src/controller-runtime/access.ts';
import type { AnyResource, Controller } from '../../src/controller-runtime/define-controller.ts';
import { resourcesRead } from '../../src/controller-runtime/wire-events.ts';
import { allControllers } from '../../src/controllers/registry.ts';
import { parsedFile, parsedText } from './parsed.ts';

interface Use {
  readonly where: string;
  readonly verb: Verb | 'read';
  /** Undefined: an argument of the function says which. */
  readonly resource: AnyResource | undefined;
  readonly subresource: string;
}

interface Declared {
  readonly uses: Use[];
  readonly recordsEvents: boolean;
  /** `file#name` of what it names. */
  readonly names: readonly string[];
}

/** By the names that controllers import. */
const resources: Readonly<Record<string, AnyResource>> = await import('../../src/api/generated/resources.ts');

/** Method of the client -> verb. */
const verbs: Readonly<Record<string, Verb>> = {
  get: 'get',
  list: 'list',
  watch: 'watch',
  create: 'create',
  update: 'update',
  patch: 'patch',
  delete: 'delete',
  deleteCollection: 'deletecollection',
};
/** Asked for by admission, on behalf of another call. */
const ofAdmission: readonly Verb[] = ['approve', 'escalate', 'sign'];

const importsOf = (file: string, source: ts.SourceFile): Map<string, string> => {
  const found = new Map<string, string>();
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const from = join(dirname(file), statement.moduleSpecifier.text);
    const { namedBindings } = statement.importClause ?? {};
    if (namedBindings === undefined || !ts.isNamedImports(namedBindings)) continue;
    for (const { name, propertyName } of namedBindings.elements)
      found.set(name.text, `${from}#${(propertyName ?? name).text}`);
  }
  return found;
};

function topLevel(source: ts.SourceFile): [name: string, node: ts.Node][] {
  return source.statements.flatMap((statement): [string, ts.Node][] => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map((one) => [one.name.getText(), one]);
    if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement))
      return [[statement.name?.text ?? '', statement]];
    return [];
  });
}

/** `{ subresource: 'status' }` of a call. */
const subresourceOf = (call: ts.CallExpression): string =>
  call.arguments
    .filter(ts.isObjectLiteralExpression)
    .flatMap(({ properties }) => properties)
    .filter(ts.isPropertyAssignment)
    .filter(({ name, initializer }) => name.getText() === 'subresource' && ts.isStringLiteral(initializer))
    .map(({ initializer }) => (initializer as ts.StringLiteral).text)[0] ?? '';

/** What each function, class and constant of a file asks for, and what else it names. */
function declarationsOf(source: ts.SourceFile): Map<string, Declared> {
  const file = source.fileName;
  const imports = importsOf(file, source);
  const all = topLevel(source);
  const own = new Set(all.map(([name]) => name));
  const resourceOf = (node: ts.Node | undefined): AnyResource | undefined => {
    const from = node !== undefined && ts.isIdentifier(node) ? imports.get(node.text) : undefined;
    const [module = '', name = ''] = from?.split('#') ?? [];
    return module.endsWith('generated/resources.ts') ? resources[name] : undefined;
  };
  const declared = (node: ts.Node, title: string): Declared => {
    const uses: Use[] = [];
    const names = new Set<string>();
    let recordsEvents = false;
    const visitCall = (call: ts.CallExpression): void => {
      const use = { where: `${file}#${title}`, resource: resourceOf(call.arguments[0]) };
      if (!ts.isPropertyAccessExpression(call.expression)) return;
      const { name, expression } = call.expression;
      if (name.text === 'follow' && /[iI]nformers$/.test(expression.getText()))
        for (const verb of ['list', 'watch'] as const)
          uses.push({ ...use, verb, resource: undefined, subresource: '' });
      const verb = verbs[name.text];
      if (verb !== undefined && /\b(write|client)$/.test(expression.getText())) {
        const subresource = subresourceOf(call);
        uses.push({ ...use, verb, subresource });
        // An apply of what is not there asks whether it may create it.
        if (verb === 'patch' && subresource === '' && call.getText().includes("type: 'apply'"))
          uses.push({ ...use, verb: 'create', subresource });
      }
      if (name.text === 'read' && /[cC]ontext$/.test(expression.getText()))
        uses.push({ ...use, verb: 'read', subresource: '' });
    };
    const visit = (one: ts.Node): void => {
      if (ts.isCallExpression(one)) visitCall(one);
      if (ts.isPropertyAccessExpression(one) && /[cC]ontext\.events$/.test(one.getText()))
        recordsEvents = true;
      if (ts.isIdentifier(one)) {
        if (own.has(one.text)) names.add(`${file}#${one.text}`);
        const from = imports.get(one.text);
        if (from !== undefined) names.add(from);
      }
      ts.forEachChild(one, visit);
    };
    visit(node);
    return { uses, recordsEvents, names: [...names] };
  };
  return new Map(all.map(([name, node]) => [`${file}#${name}`, declared(node, name)]));
}

const declarations = new Map(
  globSync('src/controllers/**/*.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => [...declarationsOf(parsedFile(file))]),
);

/** All that can be reached from what the controller's file declares. */
function reached(known: ReadonlyMap<string, Declared>, file: string): Omit<Declared, 'names'> {
  const seen = new Set([...known.keys()].filter((name) => name.startsWith(`${file}#`)));
  for (const name of seen) for (const next of known.get(name)?.names ?? []) seen.add(next);
  const all = [...seen].flatMap((name) => known.get(name) ?? []);
  return {
    uses: all.flatMap(({ uses }) => uses),
    recordsEvents: all.some(({ recordsEvents }) => recordsEvents),
  };
}

const textOf = ({ verb, resource, subresource }: Omit<Use, 'where'>): string =>
  `${verb} ${resource?.resource ?? 'what it is given'}${subresource === '' ? '' : `/${subresource}`}`;

function differences(controller: Controller, known: ReadonlyMap<string, Declared>): string[] {
  const { name, definition } = controller;
  const { uses, recordsEvents } = reached(known, `src/controllers/${name}.ts`);
  const { access } = definition;
  const reads = resourcesRead(controller);
  const isRead = (resource: AnyResource): boolean => reads.some((one) => one.resource === resource.resource);
  const undeclared = uses.filter(({ verb, resource, subresource }) =>
    resource === undefined
      ? false
      : verb === 'read'
        ? !isRead(resource)
        : !isDeclared(access, verb, resource, subresource),
  );
  const isUsed = (verb: Use['verb'], resource: string, subresource: string): boolean =>
    ofAdmission.some((one) => one === verb) ||
    uses.some(
      (use) =>
        use.verb === verb &&
        use.subresource === subresource &&
        (use.resource === undefined || resource === '*' || use.resource.resource === resource),
    );
  const declared = access
    .filter(({ resource }) => resource !== 'events')
    .flatMap((one) => one.verbs.map((verb) => [verb, one.resource] as const));
  const unused = declared.filter(([verb, resource]) => {
    const [plural = '', subresource = ''] = resource.split('/');
    return !isUsed(verb, plural, subresource);
  });
  const informed = definition.reads ?? [];
  const mayRecord = access.some(({ resource }) => resource === 'events');
  return [
    ...undeclared.map((use) => `${name} does not declare: ${textOf(use)} (${use.where})`),
    ...unused.map(([verb, resource]) => `${name} declares and never asks: ${verb} ${resource}`),
    ...informed
      .filter(({ resource }) => !isUsed('read', resource, ''))
      .map(({ resource }) => `${name} has an informer that it never reads: ${resource}`),
    ...(mayRecord === recordsEvents
      ? []
      : [`${name} ${mayRecord ? 'never records' : 'does not declare'} events`]),
  ];
}

const controllers = allControllers({
  rootCa: { now: () => '' },
  clusterCIDRs: [],
  approveKubeletServing: true,
  storageVersionMigrator: true,
});

test('a call that is not declared is found, also below, live and of a subresource, and so is a right that nobody uses', () => {
  const file = 'src/controllers/ttl-after-finished-controller.ts';
  const controller = controllers.find(({ name }) => `src/controllers/${name}.ts` === file)!;
  const elsewhere = [...declarations].filter(([name]) => !name.startsWith(`${file}#`));
  const planted = (text: string): string[] =>
    differences(controller, new Map([...elsewhere, ...declarationsOf(parsedText(file, text))]));
  const resourcesFrom = "import { jobs, secrets } from '../api/generated/resources.ts';\n";
  const right = 'context.write.get(jobs, key); context.write.delete(jobs, key);';
  assert.deepEqual(planted(`${resourcesFrom}function f() { ${right} }`), []);
  assert.deepEqual(planted(`${resourcesFrom}function f() { context.write.get(jobs, key); }`), [
    'ttl-after-finished-controller declares and never asks: delete jobs',
  ]);
  for (const [call, said] of [
    ['context.write.get(secrets, key)', 'get secrets'],
    ['this.#context.read(secrets)', 'read secrets'],
    ["context.write.update(jobs, job, { subresource: 'status' })", 'update jobs/status'],
  ])
    assert.deepEqual(planted(`${resourcesFrom}const g = () => ${call};\nfunction f() { ${right} g(); }`), [
      `ttl-after-finished-controller does not declare: ${said} (${file}#g)`,
    ]);
  assert.deepEqual(planted(`${resourcesFrom}function f() { ${right} context.events.event(); }`), [
    'ttl-after-finished-controller does not declare events',
  ]);
});

test('controllers ask for what they declare, and declare what they ask for', () => {
  const uses = [...declarations.values()].flatMap((one) => one.uses);
  assert.ok(uses.length > 150, `${uses.length} uses were found`);
  assert.deepEqual(
    controllers.flatMap((controller) => differences(controller, declarations)),
    [],
  );
});
