// Many selectors asked at once about the same labels: it costs what the labels are named by, and not as many selectors as there are.
import { isInt64Text, objectOperators, type Requirement } from './label-requirement.ts';
import type { LabelSelectorObject } from './label-selector.ts';
import type { Labels } from './labels.ts';

/** All must hold. undefined matches nothing. */
export type Row = readonly Requirement[] | undefined;

/** Of an object that was validated: undefined selects nothing, `{}` everything, and what is no operator nothing. */
export function rowOf(object: LabelSelectorObject | undefined): Row {
  if (object === undefined) return undefined;
  const row: Requirement[] = [];
  for (const key in object.matchLabels) row.push({ key, operator: '=', values: [object.matchLabels[key]!] });
  for (const { key, operator, values = [] } of object.matchExpressions ?? []) {
    const known = objectOperators[operator];
    if (known === undefined) return undefined;
    row.push({ key, operator: known, values });
  }
  return row;
}

/** What rows say about one key. A row stands as its number where it is met, as `~number` where it is refused. */
interface Asked {
  /** By the label, whatever its value. */
  readonly any: number[];
  readonly byValue: Map<string, number[]>;
  readonly bounds: { readonly row: number; readonly isAbove: boolean; readonly bound: bigint }[];
}

/** Which rows the labels decide otherwise than none would. */
export interface Differing {
  readonly rows: readonly number[];
  /** By how much more, or fewer, rows match. */
  readonly balance: number;
}
const nothingDiffers: Differing = { rows: [], balance: 0 };

/** Below so many keys it is asked for them, and not for each label whether it is one. */
const fewKeys = 8;
/** What is kept of answers: they are for tables that are asked about thousands of alike labels. */
const rowsWorthKeeping = 32;
const maxKept = 32_768;

export class SelectorTable {
  /** Whether each row matches what has no labels. */
  readonly base: readonly boolean[];
  /** How many do. */
  readonly baseCount: number;
  readonly #asked = new Map<string, Asked>();
  /** How many requirements of each row ask for a label. */
  readonly #needed: number[];
  /** All zero between two questions. */
  readonly #met: number[];
  readonly #kept = new Map<string, Differing>();
  #keptRows = 0;

  constructor(rows: readonly Row[]) {
    this.#needed = rows.map(() => 0);
    this.#met = rows.map(() => 0);
    this.base = rows.map((row, at) => {
      const isRow = row?.every((requirement) => canHold(requirement)) === true;
      if (isRow) for (const requirement of row) this.#enter(requirement, at);
      return isRow && this.#needed[at] === 0;
    });
    this.baseCount = this.base.filter(Boolean).length;
  }

  /** How many rows match. */
  count(labels: Labels): number {
    return this.baseCount + this.differing(labels).balance;
  }

  differing(labels: Labels): Differing {
    if (this.#asked.size === 0) return nothingDiffers;
    if (this.#needed.length < rowsWorthKeeping) return this.#decide(labels);
    const text = this.#sameAnswer(labels);
    let answer = this.#kept.get(text);
    if (answer === undefined) {
      answer = this.#decide(labels);
      this.#keptRows += answer.rows.length + text.length;
      if (this.#keptRows > maxKept) {
        this.#kept.clear();
        this.#keptRows = answer.rows.length + text.length;
      }
      this.#kept.set(text, answer);
    }
    return answer;
  }

  #enter({ key, operator, values }: Requirement, row: number): void {
    const asked: Asked = this.#asked.get(key) ?? { any: [], byValue: new Map(), bounds: [] };
    this.#asked.set(key, asked);
    if (operator === '!') asked.any.push(~row);
    else if (operator === '!=' || operator === 'notin') enterValues(asked, values, ~row);
    else {
      this.#needed[row]!++;
      if (operator === 'exists') asked.any.push(row);
      else if (operator === 'gt' || operator === 'lt')
        asked.bounds.push({ row, isAbove: operator === 'gt', bound: BigInt(values[0]!) });
      else enterValues(asked, values, row);
    }
  }

  /** Each label that is asked for. */
  #each(labels: Labels, told: (asked: Asked, value: string, key: string) => void): void {
    if (this.#asked.size <= fewKeys) {
      for (const [key, asked] of this.#asked) {
        const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
        if (value !== undefined) told(asked, value, key);
      }
    } else
      for (const key in labels) {
        const asked = this.#asked.get(key);
        const value = labels[key];
        if (asked !== undefined && value !== undefined) told(asked, value, key);
      }
  }

  /** The same for labels that no row tells apart. */
  #sameAnswer(labels: Labels): string {
    let text = '';
    this.#each(labels, ({ bounds, byValue }, value, key) => {
      text += bounds.length > 0 || byValue.has(value) ? `${key}=${value},` : `${key},`;
    });
    return text;
  }

  #decide(labels: Labels): Differing {
    const touched: number[] = [];
    this.#each(labels, ({ any, bounds, byValue }, value) => {
      hear(any, this.#met, touched);
      const named = byValue.get(value);
      if (named !== undefined) hear(named, this.#met, touched);
      if (bounds.length === 0 || !isInt64Text(value)) return;
      const number = BigInt(value);
      const holding = bounds.filter(({ bound, isAbove }) => (isAbove ? number > bound : number < bound));
      hear(
        holding.map(({ row }) => row),
        this.#met,
        touched,
      );
    });
    return touched.length === 0 ? nothingDiffers : this.#judge(touched);
  }

  #judge(touched: readonly number[]): Differing {
    const rows: number[] = [];
    let balance = 0;
    for (const row of touched) {
      const holds = this.#met[row] === this.#needed[row];
      this.#met[row] = 0;
      if (holds === this.base[row]) continue;
      rows.push(row);
      balance += holds ? 1 : -1;
    }
    return { rows, balance };
  }
}

const refused = -1;

/** Counts what is met of each row, from nothing to `refused`. */
function hear(entries: readonly number[], met: number[], touched: number[]): void {
  for (const entry of entries) {
    const row = entry < 0 ? ~entry : entry;
    const before = met[row]!;
    if (before === 0) touched.push(row);
    if (before !== refused) met[row] = entry < 0 ? refused : before + 1;
  }
}

/** A bound that is no number holds for nothing. */
const canHold = ({ operator, values }: Requirement): boolean =>
  (operator !== 'gt' && operator !== 'lt') || (values[0] !== undefined && isInt64Text(values[0]));

function enterValues({ byValue }: Asked, values: readonly string[], entry: number): void {
  for (const value of values.length < 2 ? values : new Set(values)) {
    const entries = byValue.get(value);
    if (entries === undefined) byValue.set(value, [entry]);
    else entries.push(entry);
  }
}
