// Text of metrics whose values come with the time when they were true: prom-client writes none.
import type { Labels } from '../../component-base/metrics.ts';

export interface Row {
  readonly labels?: Labels;
  readonly value: number;
  readonly atMs: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly rows: readonly Row[];
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

const quoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** In order, as upstream's. */
const labelsText = (labels: Labels = {}): string => {
  const names = Object.keys(labels).sort();
  const all = names.map((name) => `${name}=${quoted(labels[name] ?? '')}`);
  return all.length === 0 ? '' : `{${all.join(',')}}`;
};

/** A family without rows is not there. */
export const exposition = (families: readonly Family[]): string =>
  families
    .filter(({ rows }) => rows.length > 0)
    .map(({ name, help, type, rows }) => {
      const lines = rows.map(({ labels, value, atMs }) => `${name}${labelsText(labels)} ${value} ${atMs}\n`);
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
