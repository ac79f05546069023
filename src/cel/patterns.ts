// Patterns of users: compiled once, matched in linear time, and dear where they are large.
import { compilePattern, type Pattern } from '../base/regular-expression.ts';
import { regexFactor, traversalFactor } from './estimate.ts';
import { CelError, type Value, valueSize } from './value.ts';

const known = new Map<string, Pattern | CelError>();
const mostKnown = 1_000;
/** Longer ones are not worth their place. */
const longestKnown = 1_000;

/** Or why the text is none. */
function patternOf(source: string): Pattern | CelError {
  const before = known.get(source);
  if (before) return before;
  const made = tried(source);
  if (source.length > longestKnown) return made;
  if (known.size >= mostKnown) known.clear();
  known.set(source, made);
  return made;
}

function tried(source: string): Pattern | CelError {
  try {
    return compilePattern(source);
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}

/** For `specialize` of functions whose second argument is a pattern: a constant that is none refuses the program. */
export function refuseNoPattern([, pattern]: readonly (Value | undefined)[]): CelError | undefined {
  const compiled = typeof pattern === 'string' ? patternOf(pattern) : undefined;
  return compiled instanceof CelError ? compiled : undefined;
}

/** What one call may take, in characters times the size of the pattern: about a second, in which all others wait. */
const maxSteps = 50_000_000;
export const tooDear: CelError = new CelError('operation cancelled: actual cost limit exceeded');

/** The answer for a text, unless the pattern is none or would take too long. */
export function ask<T>(source: string, text: string, question: (pattern: Pattern) => T): T | CelError {
  const pattern = patternOf(source);
  if (pattern instanceof CelError) return pattern;
  return pattern.size * text.length > maxSteps ? tooDear : question(pattern);
}

/** Steps that one unit of cost stands for: as few as make upstream's cost the greater one for all but huge repetitions. */
const stepsOfCost = 200;

/** As upstream by both lengths; more where the pattern is far larger than its text: `(a{1,999})`. */
export function matchCost(text: string, source: string): number {
  const usual =
    Math.ceil((1 + valueSize(text)) * traversalFactor) * Math.ceil(valueSize(source) * regexFactor);
  const pattern = known.get(source);
  const steps = pattern === undefined || pattern instanceof CelError ? 0 : pattern.size * text.length;
  return Math.max(usual, Math.ceil(steps / stepsOfCost));
}
