// Plants imports that break a rule, and imports that don't, in a copy of the tree's skeleton: the check must tell them apart.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** [file, what it imports, the rule that must object or null]. */
const planted: readonly (readonly [string, string, string | null])[] = [
  ['src/apimachinery/a1.ts', 'src/base/x.ts', null],
  ['src/controllers/a-controller.ts', 'src/controllers/a/rolling.ts', null],
  ['src/cmd/compose/a2.ts', 'src/storage/sqlite/x.ts', null],
  ['src/apiserver/a3.test.ts', 'src/storage/memory/x.ts', null],
  ['src/wire/a4.ts', 'node:http2', null],
  ['src/base/b1.ts', 'src/apimachinery/x.ts', 'floor-base'],
  ['src/base/b2.ts', 'node:crypto', 'pure-no-builtins'],
  ['src/apiserver/b3.ts', 'src/api/core/x.ts', 'generic-server-knows-no-workload'],
  ['src/apiserver/b4.ts', 'src/registry/x.ts', 'floor-apiserver'],
  ['src/controllers/b5.ts', 'src/kubelet/x.ts', 'floor-controllers'],
  ['src/controllers/b-controller.ts', 'src/controllers/a-controller.ts', 'one-file-each-controllers'],
  ['src/kubelet/b6.ts', 'src/os/linux/x.ts', 'drivers-from-compose-only'],
  ['src/kubelet/d1.ts', 'src/kubelet/simulated/x.ts', 'drivers-from-compose-only'],
  ['src/kubelet/simulated/d2.ts', 'src/kubelet/containerd/x.ts', 'drivers-apart'],
  ['src/kubelet/b7.ts', 'node:child_process', 'builtin-child_process'],
  ['src/scheduler/b8.ts', 'src/storage/x.ts', 'floor-scheduler'],
  ['src/proxy/b9.ts', 'src/proxy/testing/x.ts', 'no-testing-in-production'],
  ['src/controllers/c1.ts', 'commander', 'npm-commander'],
  ['src/storage/sqlite/c2.ts', 'src/storage/memory/x.ts', 'drivers-apart'],
  ['src/proxy/c4.ts', 'src/proxy/backends/nftables/x.ts', 'data-planes-from-compose-only'],
  ['src/proxy/backends/memory/c5.ts', 'src/proxy/backends/nftables/x.ts', 'data-planes-apart'],
  ['src/nowhere/c3.ts', 'src/base/x.ts', 'every-folder-has-a-floor'],
  ['src/base/cycle1.ts', 'src/base/cycle2.ts', 'no-circular'],
];

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

test('dependency-cruiser objects to each planted violation and to nothing else', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'porthole-layers-'));
  try {
    for (const name of ['layers.mjs', '.dependency-cruiser.mjs', 'tsconfig.json', 'package.json'])
      cpSync(join(root, name), join(scratch, name));
    symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'));
    const put = (path: string, text: string): void => {
      mkdirSync(dirname(join(scratch, path)), { recursive: true });
      writeFileSync(join(scratch, path), text);
    };
    for (const [, to] of planted) if (to.startsWith('src/')) put(to, 'export const x = 1;\n');
    put('src/base/cycle2.ts', "import * as imported from './cycle1.ts';\nexport const x = imported;\n");
    for (const [from, to] of planted) {
      const specifier = to.startsWith('src/') ? relative(dirname(from), to) : to;
      put(
        from,
        `import * as imported from '${specifier.startsWith('.') || !to.startsWith('src/') ? specifier : `./${specifier}`}';\nexport const used = imported;\n`,
      );
    }
    const { stdout } = spawnSync(
      process.execPath,
      [
        join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs'),
        '--config',
        '.dependency-cruiser.mjs',
        '--output-type',
        'json',
        'src',
      ],
      { cwd: scratch, maxBuffer: 1 << 28 },
    );
    const { summary } = JSON.parse(stdout.toString()) as {
      summary: { violations: Violation[]; totalCruised: number };
    };
    assert.ok(summary.totalCruised > planted.length, `${summary.totalCruised} modules were read`);
    for (const [from, to, rule] of planted) {
      const names = summary.violations.filter((v) => v.from === from).map((v) => v.rule.name);
      if (rule === null) assert.deepEqual(names, [], `${from} -> ${to} is allowed`);
      else
        assert.ok(
          names.includes(rule),
          `${from} -> ${to} must break ${rule}; it broke [${names.join(', ')}]`,
        );
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
