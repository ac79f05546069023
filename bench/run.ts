// npm run bench -- [--json] [--help] [--seed N] [--seeds N] [names]: runs benchmarks and prints value, floor, ratio and aim.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { tableText } from '../src/cmd/print-table.ts';
import { box } from '../test/harness/box.ts';
import { prepareNodes } from '../tools/test-machine.ts';
import type { Bench, Measurement } from './bench.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    inside: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
    seed: { type: 'string' },
    seeds: { type: 'string' },
  },
});
const files = globSync(new URL('./*.bench.ts', import.meta.url).pathname).sort();
const nameOf = (file: string): string => basename(file, '.bench.ts');
const unknown = positionals.filter((name) => !files.some((file) => nameOf(file) === name));
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(', ')}; there are: ${files.map(nameOf).join(', ')}`);
  process.exit(1);
}

if (values.help) {
  console.log(`npm run bench -- [--json] [names]

Runs all benchmarks, or those that are named, and prints value, floor, ratio and aim; --json prints one line a figure.
BENCH_PROFILE=DIR    servers that are started write a CPU profile of each of their threads there
BENCH_ONLY=WORDS     of tenants: only the attacks that are called so
--seeds N            of simulation: so many seeds; --seed N: that one alone, and what happened in it
`);
  for (const file of files) {
    const { bench } = (await import(file)) as { bench: Bench };
    console.log(`${bench.name.padEnd(18)} ${bench.question}${bench.needsBox ? ' (needs root)' : ''}`);
  }
  process.exit(0);
}

/** Undefined when nothing was said. */
function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`${text} is no whole number`);
  process.exit(1);
}

const [seed, seeds] = [wholeNumber(values.seed), wholeNumber(values.seeds)];
const asked = { ...(seed === undefined ? {} : { seed }), ...(seeds === undefined ? {} : { seeds }) };

const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

function verdict(m: Measurement): string {
  if (!m.aim) return '';
  const met = m.aim.better === 'higher' ? m.value >= m.aim.value : m.value <= m.aim.value;
  return `${m.aim.better === 'higher' ? '≥' : '≤'} ${number(m.aim.value)}${met ? '' : '  missed'}`;
}

const failed: string[] = [];
for (const file of files) {
  if (positionals.length > 0 && !positionals.includes(nameOf(file))) continue;
  const { bench } = (await import(file)) as { bench: Bench };
  if (bench.needsBox && !values.inside) {
    const [program, ...args] = [
      ...box(),
      process.execPath,
      import.meta.filename,
      '--inside',
      ...(values.json ? ['--json'] : []),
      nameOf(file),
    ];
    await prepareNodes((text) => console.error(`   ${text} …`));
    const { status } = spawnSync(program!, args, { stdio: 'inherit' });
    if (status !== 0) failed.push(bench.name);
    continue;
  }
  const measurements = await bench.run(asked);
  if (values.json) {
    for (const m of measurements) console.log(JSON.stringify({ bench: bench.name, ...m }));
    continue;
  }
  console.log(`\n${bench.name}: ${bench.question}`);
  const rows = measurements.map((m) => [
    m.what,
    `${number(m.value)} ${m.unit}`,
    m.floor ? `${number(m.floor.value)} ${m.unit} (${m.floor.what})` : '',
    m.floor ? `${(m.value / m.floor.value).toFixed(2)}×` : '',
    verdict(m),
  ]);
  console.log(tableText(['WHAT', 'VALUE', 'FLOOR', 'RATIO', 'AIM'], rows));
}
if (failed.length > 0) console.error(`without figures: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : process.exitCode);
