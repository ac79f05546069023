// Charts as operators ship them: definitions that come first, hooks in their order, and changes that others made in between.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureKubectl } from '../../src/cmd/setup/kubectl.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { busybox, limit, startLinuxCluster } from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('helm-charts');
let cluster: TestCluster;
let helmProgram: string;
before(async () => {
  helmProgram = (await ensureKubectl(linuxProcesses, portholeCache(), () => undefined)).helm;
  cluster = await startLinuxCluster();
  writeChart();
}, limit);
after(async () => {
  scratch.remove();
  await cluster?.down();
}, limit);

async function helm(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await linuxProcesses.run(helmProgram, args, {
    cwd: scratch.path,
    env: { HOME: scratch.path, KUBECONFIG: cluster.kubeconfig },
  });
  if (code !== 0) throw new Error(`helm ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
  return stdout.toString();
}
const get = async (...args: string[]): Promise<string> => cluster.kubectl.ok(['get', ...args]);

const hook = (name: string, when: string, weight: number, policy: string): string => `apiVersion: batch/v1
kind: Job
metadata:
  name: ${name}
  annotations:
    helm.sh/hook: ${when}
    helm.sh/hook-weight: "${weight}"
    helm.sh/hook-delete-policy: ${policy}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: ${busybox}, command: [sh, -c, "true"]}
`;

const chart: Readonly<Record<string, string>> = {
  'Chart.yaml': 'apiVersion: v2\nname: fleet\nversion: 0.1.0\n',
  'values.yaml': 'color: red\n',
  'crds/gadgets.yaml': `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.fleet.example.com
spec:
  group: fleet.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color: {type: string}
              size: {type: integer, default: 3}
            x-kubernetes-validations:
            - {rule: self.color != 'pink', message: not pink}
`,
  'templates/all.yaml': `apiVersion: fleet.example.com/v1
kind: Gadget
metadata: {name: first}
spec: {color: "{{ .Values.color }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: "{{ .Values.color }}", kept: "yes"}
`,
  // By their names they would run the other way round.
  'templates/a-second.yaml': hook('second', 'pre-install', 5, 'before-hook-creation'),
  'templates/b-first.yaml': hook('first', 'pre-install', -5, 'before-hook-creation'),
  'templates/last.yaml': hook('last', 'post-install,post-upgrade', 0, 'before-hook-creation'),
  'templates/gone.yaml': hook('gone', 'post-install', 1, 'hook-succeeded'),
};

function writeChart(): void {
  for (const [file, text] of Object.entries(chart)) {
    const path = join(scratch.path, 'fleet', file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

const timeOf = async (field: string, ...object: string[]): Promise<number> => {
  const time = Date.parse(await get(...object, '-o', `jsonpath={${field}}`));
  assert.ok(!Number.isNaN(time), `${object.join(' ')} has ${field}`);
  return time;
};

describe('charts of operators', () => {
  test(
    'definitions come before what is made of them, and hooks run by weight, each to its end',
    limit,
    async () => {
      const said = await helm('install', 'fleet', 'fleet', '--server-side=false', '--timeout=60s');
      assert.match(said, /STATUS: deployed\nREVISION: 1\n/);
      assert.equal(await get('gadget', 'first', '-o', 'jsonpath={.spec}'), '{"color":"red","size":3}');
      const ended = (job: string): Promise<number> => timeOf('.status.completionTime', 'job', job);
      const began = (job: string): Promise<number> => timeOf('.metadata.creationTimestamp', 'job', job);
      const made = await timeOf('.metadata.creationTimestamp', 'configmap', 'settings');
      assert.ok((await ended('first')) <= (await began('second')));
      assert.ok((await ended('second')) <= made);
      assert.ok(made <= (await began('last')));
      assert.equal(await get('jobs', '-o', 'jsonpath={.items[*].metadata.name}'), 'first last second');
    },
  );

  test(
    'an upgrade merges three ways: what others added stays, what the chart left out goes',
    limit,
    async () => {
      const others = JSON.stringify({ metadata: { labels: { theirs: 'yes' } }, data: { theirs: 'yes' } });
      await cluster.kubectl.ok(['patch', 'configmap', 'settings', '--type=merge', '-p', others]);
      writeFileSync(
        join(scratch.path, 'fleet/templates/all.yaml'),
        chart['templates/all.yaml']!.replace(', kept: "yes"', ', added: "yes"'),
      );
      const uid = await get('job', 'last', '-o', 'jsonpath={.metadata.uid}');
      const flags = ['--server-side=false', '--set=color=blue', '--timeout=60s'];
      assert.match(await helm('upgrade', 'fleet', 'fleet', ...flags), /STATUS: deployed\nREVISION: 2\n/);
      const data = JSON.parse(await get('configmap', 'settings', '-o', 'jsonpath={.data}'));
      assert.deepEqual(data, { added: 'yes', color: 'blue', theirs: 'yes' });
      assert.equal(await get('configmap', 'settings', '-o', 'jsonpath={.metadata.labels.theirs}'), 'yes');
      assert.equal(await get('gadget', 'first', '-o', 'jsonpath={.spec.color}'), 'blue');
      assert.notEqual(await get('job', 'last', '-o', 'jsonpath={.metadata.uid}'), uid, 'its hook ran anew');
    },
  );

  test(
    'what a rule of the definition refuses fails the upgrade in its words, and the next one goes on',
    limit,
    async () => {
      const pink = helm(
        'upgrade',
        'fleet',
        'fleet',
        '--server-side=false',
        '--set=color=pink',
        '--timeout=60s',
      );
      await assert.rejects(pink, /spec: Invalid value:.*not pink/);
      assert.match(await helm('history', 'fleet'), /^3\s+.*failed/m);
      const said = await helm(
        'upgrade',
        'fleet',
        'fleet',
        '--server-side=true',
        '--force-conflicts',
        '--set=color=green',
      );
      assert.match(said, /STATUS: deployed\nREVISION: 4\n/);
      assert.equal(await get('gadget', 'first', '-o', 'jsonpath={.spec.color}'), 'green');
      const data = JSON.parse(await get('configmap', 'settings', '-o', 'jsonpath={.data}'));
      assert.deepEqual(data, { added: 'yes', color: 'green', theirs: 'yes' });
    },
  );

  test(
    'an uninstall leaves the definition, as Helm does, and nothing else of the release',
    limit,
    async () => {
      await helm('uninstall', 'fleet', '--wait', '--timeout=60s');
      assert.equal(await get('gadgets', '-o', 'name'), '');
      assert.equal(await get('configmap', 'settings', '--ignore-not-found', '-o', 'name'), '');
      const definition = ['crd', 'gadgets.fleet.example.com', '-o', 'name'];
      assert.match(await get(...definition), /gadgets\.fleet\.example\.com/);
    },
  );
});
