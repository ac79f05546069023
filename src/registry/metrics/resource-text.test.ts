// What is read of a kubelet's text, and what of it is not believed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readResourceText } from './resource-text.ts';

const pod = 'namespace="default",pod="web"';
const container = (name: string): string => `{container="${name}",${pod}}`;
const text = `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total${container('main')} 4.710169 1633253812125
container_memory_working_set_bytes${container('main')} 1.253376e+06 1633253812125
container_start_time_seconds${container('main')} 1.633252712e+09 1633253812125
node_cpu_usage_seconds_total 357.35491 1633253809720
node_memory_working_set_bytes 1.616273408e+09 1633253809720
pod_cpu_usage_seconds_total{${pod}} 4.710169 1633253812125
resource_scrape_error 0
`;
const read = (more: string) => readResourceText(text + more, 5_000);

test('nodes and containers are read with their times', () => {
  assert.deepEqual(read(''), {
    node: { atMs: 1633253809720, cpuNs: 357354910000, memoryBytes: 1616273408 },
    pods: new Map([
      [
        'default/web',
        new Map([
          ['main', { startMs: 1633252712000, atMs: 1633253812125, cpuNs: 4710169000, memoryBytes: 1253376 }],
        ]),
      ],
    ]),
  });
});

test('what has no time is of now', () => {
  const { node } = readResourceText('node_cpu_usage_seconds_total 1\nnode_memory_working_set_bytes 2', 5_000);
  assert.deepEqual(node, { atMs: 5_000, cpuNs: 1e9, memoryBytes: 2 });
});

test('of a pod one of whose containers was not measured nothing is known', () => {
  for (const more of [
    `container_cpu_usage_seconds_total${container('side')} 0 1633253812125\ncontainer_memory_working_set_bytes${container('side')} 9 1633253812125\n`,
    `container_cpu_usage_seconds_total${container('side')} 1 1633253812125\n`,
    `container_start_time_seconds${container('side')} 1.633252712e+09 1633253812125\n`,
  ])
    assert.deepEqual([...read(more).pods.keys()], [], more);
});

test('numbers and times that nothing can have, and lines that are none, are passed over', () => {
  for (const bad of ['NaN', '+Inf', '-1', '1e99', '', 'x'])
    for (const at of ['1633253812125', '-5', '9e99', 'x'])
      assert.deepEqual(
        read(`container_cpu_usage_seconds_total${container('main')} ${bad} ${at}\n}{\n{"\n`),
        read(''),
      );
  assert.deepEqual(
    readResourceText(`node_cpu_usage_seconds_total 1 -1\nnode_memory_working_set_bytes 1 1e300`, 1),
    {
      node: undefined,
      pods: new Map(),
    },
  );
});
