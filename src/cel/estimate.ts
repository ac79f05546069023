// Bounds of costs and sizes, how they are reckoned with, and what a library sees of a call that it estimates.
import type { Expr } from './ast.ts';
import type { CelType } from './cel-type.ts';

/** Both bounds of a cost, or of a size in characters, bytes, elements. */
export interface Estimate {
  readonly min: number;
  readonly max: number;
}
export interface CallEstimate {
  /** Without that of the arguments. */
  readonly cost: Estimate;
  readonly size?: Estimate | undefined;
}

/** An operand, as a library sees it when it estimates a call. */
export interface CostNode {
  /** `self`, `spec`, `@items`, ... where the value comes from a variable. */
  readonly path: readonly string[] | undefined;
  readonly type: CelType;
  readonly expr: Expr | undefined;
  /** Known without a schema. */
  readonly computedSize: Estimate | undefined;
}
export interface CallSite {
  readonly overload: string;
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  /** From zero to no bound where nothing is known. */
  sizeOf(node: CostNode): Estimate;
}
/** What a schema says of sizes. */
export type SizeHints = (node: Pick<CostNode, 'path' | 'type'>) => Estimate | undefined;

export const unlimited: number = 2 ** 64 - 1;
export const traversalFactor = 0.1;
export const regexFactor = 0.25;
interface CreationCosts {
  readonly list: number;
  readonly map: number;
  readonly struct: number;
}
export const creationCosts: CreationCosts = { list: 10, map: 30, struct: 40 };

const capped = (value: number): number => (value < unlimited ? value : unlimited);
export const fixed = (value: number): Estimate => ({ min: value, max: value });
export const unknownSize: Estimate = { min: 0, max: unlimited };
export const nothing: Estimate = fixed(0);

export const plus = (...all: readonly Estimate[]): Estimate =>
  all.reduce((a, b) => ({ min: capped(a.min + b.min), max: capped(a.max + b.max) }), nothing);
export const times = (a: Estimate, b: Estimate): Estimate => ({
  min: capped(a.min * b.min),
  max: capped(a.max * b.max),
});
export const scaled = (a: Estimate, factor: number): Estimate => ({
  min: capped(Math.ceil(a.min * factor)),
  max: capped(Math.ceil(a.max * factor)),
});
export const unionOf = (a: Estimate, b: Estimate): Estimate => ({
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
});
