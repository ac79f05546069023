// What rules of custom resources and policies cost: to make, and each time they run.
import type { Json, JsonObject } from '../src/apimachinery/json.ts';
import { dynType } from '../src/cel/cel-type.ts';
import { CheckedExpression, compileExpression } from '../src/cel/compile.ts';
import { Environment, languageLibraries } from '../src/cel/environment.ts';
import { jsonValue, schemaValue } from '../src/cel/json-values.ts';
import { schemaSizeHints, schemaType, schemaTypeProvider } from '../src/cel/schema-type.ts';
import { CelError } from '../src/cel/value.ts';
import { type Bench, bestOf, type Measurement } from './bench.ts';

const text = { type: 'string' };
const listener = {
  type: 'object',
  properties: { name: text, port: { type: 'integer' }, protocol: text, hostname: text },
};
const schema: JsonObject = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    maxReplicas: { type: 'integer' },
    listeners: { type: 'array', maxItems: 64, items: listener },
  },
};
const self: Json = {
  replicas: 3,
  maxReplicas: 10,
  listeners: Array.from({ length: 8 }, (_, i) => ({ name: `l${i}`, port: 8_000 + i, protocol: 'TCP' })),
};
/** With the aim of each, in microseconds. */
const rules: Readonly<Record<string, readonly [aim: number, rule: string]>> = {
  'two fields compared': [2, 'self.replicas <= self.maxReplicas'],
  'eight elements, a pattern each': [
    60,
    'self.listeners.all(l, l.name.matches("^[a-z]([-a-z0-9]*[a-z0-9])?$"))',
  ],
  'eight elements, each with each': [
    60,
    'self.listeners.all(l, self.listeners.exists_one(m, l.name == m.name && l.port == m.port && l.protocol == m.protocol))',
  ],
};
const policy =
  'has(object.replicas) && object.replicas <= 5 && object.listeners.all(l, l.protocol in ["TCP", "UDP"])';

async function microseconds(work: () => unknown): Promise<number> {
  for (let i = 0; i < 1_000; i++) work();
  return bestOf(5, async () => {
    const from = performance.now();
    for (let i = 0; i < 300; i++) work();
    return ((performance.now() - from) / 300) * 1_000;
  });
}

export const bench: Bench = {
  name: 'cel',
  question: 'what do rules and policies in CEL cost?',
  async run() {
    const root = schemaType(schema, 'selfType', true);
    const environment = new Environment({
      libraries: languageLibraries,
      types: schemaTypeProvider([root]),
      variables: { self: root.type, object: dynType },
    });
    const compile = (rule: string): CheckedExpression => {
      const compiled = compileExpression(rule, environment);
      if (!(compiled instanceof CheckedExpression)) throw new Error(String(compiled));
      return compiled;
    };
    const row = async (what: string, aim: number, work: () => unknown): Promise<Measurement> => ({
      what,
      value: await microseconds(work),
      unit: 'µs',
      aim: { value: aim },
    });
    const running = (
      rule: string,
      variables: () => Parameters<ReturnType<CheckedExpression['program']>['run']>[0],
    ) => {
      const program = compile(rule).program();
      return () => {
        const { value } = program.run(variables(), { cost: 10_000_000 });
        if (value instanceof CelError) throw new Error(value.message);
      };
    };
    const rows: Measurement[] = [];
    for (const [what, [aim, rule]] of Object.entries(rules))
      rows.push(
        await row(
          `rule: ${what}`,
          aim,
          running(rule, () => ({ self: schemaValue(self, root) })),
        ),
      );
    rows.push(
      await row(
        'policy over an object without a schema',
        20,
        running(policy, () => ({ object: jsonValue(self) })),
      ),
    );
    const [, rule] = rules['eight elements, each with each']!;
    rows.push(
      await row('a rule made: parsed, checked, estimated, compiled', 1_000, () => {
        const compiled = compile(rule);
        compiled.estimate(schemaSizeHints(root));
        compiled.program();
      }),
    );
    return rows;
  },
};
