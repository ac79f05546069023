// The metrics that are declared in src, read from their source: they are upstream's, with its types, labels and buckets.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import ts from 'typescript';
import { defaultBuckets } from '../../src/component-base/metrics.ts';
import { type UpstreamMetric, upstreamMetrics } from '../harness/upstream-metrics.ts';
import { parsedFile, parsedText } from './parsed.ts';

interface Declared extends UpstreamMetric {
  readonly name: string;
  readonly help: string;
}

const types: Readonly<Record<string, UpstreamMetric['type']>> = {
  counter: 'counter',
  gauge: 'gauge',
  readGauge: 'gauge',
  histogram: 'histogram',
};

/** What a constant expression is. Names, labels and buckets are written out, so that whoever looks for one of them finds it. */
function constantOf(node: ts.Expression, constants: ReadonlyMap<string, ts.Expression>): unknown {
  const value = (inner: ts.Expression): unknown => constantOf(inner, constants);
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (ts.isAsExpression(node)) return value(node.expression);
  if (ts.isTemplateExpression(node))
    return (
      node.head.text +
      node.templateSpans.map((span) => `${value(span.expression)}${span.literal.text}`).join('')
    );
  if (ts.isArrayLiteralExpression(node))
    return node.elements.flatMap((one) =>
      ts.isSpreadElement(one) ? (value(one.expression) as unknown[]) : [value(one)],
    );
  if (ts.isIdentifier(node) && node.text === 'defaultBuckets') return defaultBuckets;
  if (ts.isIdentifier(node) && constants.has(node.text)) return value(constants.get(node.text)!);
  if (ts.isCallExpression(node) && node.expression.getText() === 'exponentialBuckets') {
    const [start, factor, count] = node.arguments.map((one) => value(one) as number) as [
      number,
      number,
      number,
    ];
    return Array.from({ length: count }, (_, i) => start * factor ** i);
  }
  throw new Error(`not written out: ${node.getText()}`);
}

/** The kubelet calls the one of /metrics `node`. */
const isRegistry = (node: ts.Expression): boolean => /(^|\.)(metrics|registry|node)$/.test(node.getText());

function metricsOf(source: ts.SourceFile): Declared[] {
  const constants = new Map<string, ts.Expression>();
  const found: Declared[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      isRegistry(node.expression.expression)
    ) {
      const type = types[node.expression.name.text];
      const [name, help, labels, buckets] = node.arguments;
      if (type !== undefined && name !== undefined && help !== undefined && labels !== undefined)
        found.push({
          type,
          name: constantOf(name, constants) as string,
          help: constantOf(help, constants) as string,
          labels: constantOf(labels, constants) as string[],
          ...(type === 'histogram' ? { buckets: constantOf(buckets!, constants) as number[] } : {}),
        });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Those of others' names: ours, and CoreDNS'. */
const isOther = /^(porthole|coredns)_/;

/** What of a metric is not upstream's. Bounds are compared as far as both are exact. */
function differences({ name, ...is }: Declared): string[] {
  const should = upstreamMetrics[name];
  if (should === undefined) return isOther.test(name) ? [] : [`${name}: upstream has none of this name`];
  const text = ({ type, labels, buckets = [] }: UpstreamMetric): string[] => [
    `${name}: a ${type}`,
    `${name}: of ${[...labels].sort().join(', ')}`,
    `${name}: up to ${buckets.map((bound) => Number(bound.toPrecision(9))).join(', ')}`,
  ];
  const expected = text(should);
  return text(is).filter((line, i) => line !== expected[i]);
}

test('a metric that is not as upstream has it is found, and one that is not written out', () => {
  const planted = (call: string): string[] =>
    metricsOf(parsedText('x.ts', `const labels = ['name'];\nmetrics.${call};`)).flatMap(differences);
  assert.deepEqual(planted("readGauge('workqueue_depth', 'h', labels)"), []);
  assert.deepEqual(planted("counter('workqueue_depth', 'h', labels)"), ['workqueue_depth: a counter']);
  assert.deepEqual(planted("gauge('workqueue_depth', 'h', ['id', ...labels])"), [
    'workqueue_depth: of id, name',
  ]);
  const queue = (start: string): string[] =>
    planted(
      `histogram('workqueue_queue_duration_seconds', 'h', labels, exponentialBuckets(${start}, 10, 10))`,
    );
  assert.deepEqual(queue('1e-8'), []);
  assert.equal(queue('1e-6').length, 1);
  assert.deepEqual(planted("gauge('workqueue_size', 'h', [])"), [
    'workqueue_size: upstream has none of this name',
  ]);
  assert.deepEqual(planted("gauge('porthole_size', 'h', [])"), []);
  assert.throws(() => planted("gauge(named('depth'), 'h', [])"), /not written out: named/);
});

test("types, labels and buckets of what is told are upstream's", () => {
  const files = globSync('src/**/*.ts').filter(
    (file) => !/\.test\.ts$|^src\/component-base\/metrics\.ts$/.test(file),
  );
  const declared = files.map(parsedFile).flatMap(metricsOf);
  assert.deepEqual(declared.flatMap(differences), []);
  const names = declared.map(({ name }) => name).filter((name) => !isOther.test(name));
  assert.deepEqual(names.toSorted(), Object.keys(upstreamMetrics).toSorted());
  for (const { name, help } of declared) assert.notEqual(help, '', name);
});
