// Import rules made from layers.mjs; run by `npm run check` and tested by test/repo/layers.test.ts.
import { builtins, flat, layers, packages, pure } from './layers.mjs';

const any = (list) => `(${list.join('|')})`;
const escaped = (text) => text.replace(/[/.]/g, (c) => (c === '.' ? '[.]' : c));
const TEST = '[.](test|bench|e2e)[.]ts$';
const TESTING = '^src/.+/testing/';
const error = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const floors = Object.entries(layers)
  .filter(([, may]) => may !== '*')
  .map(([folder, may]) =>
    error(
      `floor-${folder}`,
      `src/${folder} may import only: itself${may.map((m) => `, ${m}`).join('')}`,
      { path: `^src/${folder}/`, pathNot: [TEST, TESTING] },
      { path: '^src/', pathNot: `^src/${any([folder, ...may])}/` },
    ),
  );

const onlyIn = Object.entries(builtins).map(([names, folders]) =>
  error(
    `builtin-${names.split('|')[0]}`,
    `node:${names} is wrapped in src/${folders.join(', src/')}; use the wrapper`,
    { path: '^src/', pathNot: `^src/${any([...folders, 'cmd', 'exports'])}/|${TEST}|${TESTING}` },
    { dependencyTypes: ['core'], path: `^(node:)?(${names})$` },
  ),
);

const siblings = flat.map(([folder, files]) =>
  error(
    `one-file-each-${folder.replaceAll('/', '-')}`,
    `files of src/${folder} do not import one another; share through a lower floor or a sub-folder of one of them`,
    { path: `^src/${folder}/${files}`, pathNot: TEST },
    { path: `^src/${folder}/${files}` },
  ),
);

const drivers =
  '^src/(storage/(sqlite|etcd|memory)|os/(linux|windows)|kubelet/(containerd|simulated)|emulation)/';

export default {
  forbidden: [
    error(
      'no-circular',
      'A cycle, types included, means two files are one file, or a third is missing.',
      {},
      { circular: true },
    ),
    error(
      'not-resolvable',
      'Nothing like this on disk.',
      { path: '^(src|test|tools|bench|examples)/' },
      { couldNotResolve: true, pathNot: '^node:' },
    ),
    error(
      'every-folder-has-a-floor',
      'A folder of src that layers.mjs does not know is an error, not an exemption.',
      { path: '^src/', pathNot: `^src/${any(Object.keys(layers))}/` },
      {},
    ),
    ...floors,
    error(
      'pure-no-builtins',
      'Floors 0-2 run in a browser, a worker and a simulator alike.',
      { path: `^src/${any(pure)}/`, pathNot: `${TEST}|${TESTING}` },
      { dependencyTypes: ['core'] },
    ),
    ...onlyIn,
    error(
      'npm-only-where-listed',
      'Every npm package has one home, written down in layers.mjs.',
      { path: '^src/', pathNot: [TEST, TESTING] },
      {
        path: 'node_modules/',
        pathNot: `node_modules/(@types/)?${any(Object.keys(packages).map(escaped))}/`,
      },
    ),
    ...Object.entries(packages).map(([name, home]) =>
      error(
        `npm-${name}`,
        `${name} is used in src/${home} only`,
        { path: '^src/', pathNot: [`^src/${home}/`, TEST, TESTING] },
        {
          path: `node_modules/(@types/)?${escaped(name)}/`,
        },
      ),
    ),
    error(
      'drivers-from-compose-only',
      'Storage drivers, operating systems, runtimes of nodes and emulation are named in one place.',
      { path: '^src/', pathNot: [TEST, TESTING, '^src/cmd/', '^src/exports/', drivers] },
      { path: drivers },
    ),
    error(
      'drivers-apart',
      'One driver does not import another.',
      {
        path: '^src/(storage|os|kubelet)/(sqlite|etcd|memory|linux|windows|containerd|simulated)/',
        pathNot: TEST,
      },
      {
        path: '^src/(storage|os|kubelet)/(sqlite|etcd|memory|linux|windows|containerd|simulated)/',
        pathNot: '^src/$1/$2/',
      },
    ),
    error(
      'data-planes-from-compose-only',
      'The proxy knows its port; which driver is behind it is chosen where a node is composed.',
      { path: '^src/proxy/[^/]+[.]ts$', pathNot: TEST },
      { path: '^src/proxy/backends/' },
    ),
    error(
      'data-planes-apart',
      'One data plane does not know another.',
      { path: '^src/proxy/backends/(nftables|memory)/' },
      { path: '^src/proxy/backends/(nftables|memory)/', pathNot: '^src/proxy/backends/$1/' },
    ),
    error(
      'generic-server-knows-no-workload',
      'The generic API server sees declarations, never pods or deployments.',
      { path: '^src/apiserver/', pathNot: [TEST, TESTING] },
      {
        path: '^src/api/(core|apps|batch|networking|discovery|policy|autoscaling|storage|scheduling|node|resource|rbac|events|certificates)/',
      },
    ),
    ...siblings,
    error(
      'no-testing-in-production',
      'testing/ folders, tests and benches are not for production code.',
      { path: '^src/', pathNot: [TEST, TESTING, '^src/exports/testing[.]ts$'] },
      { path: `${TESTING}|${TEST}|^(test|bench|tools|examples)/` },
    ),
    error('no-tests-imported', 'A test file is a leaf.', {}, { path: TEST }),
    error(
      'unit-tests-stay-low',
      'A unit test beside the code does not start the harness; that is test/integration.',
      { path: `^src/.*${TEST}` },
      { path: '^(test|bench|tools)/' },
    ),
    error(
      'examples-use-exports',
      'Examples see what a user sees.',
      { path: '^examples/' },
      { path: '^(src|test|tools)/', pathNot: '^src/exports/' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage)/' },
    tsPreCompilationDeps: true, // count type-only imports: layers are for readers, not for bundlers
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js', '.json'],
      conditionNames: ['import', 'node', 'types'],
    },
  },
};
