// Go's regular expressions (RE2 syntax, linear time), for patterns that clients give.
import { RE2JS } from 're2js';

export interface Pattern {
  /** Steps that one character of a text may take. */
  readonly size: number;
  /** True when some part of the text matches. */
  matches(text: string): boolean;
}

/** Throws Error for what is no pattern. */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source);
  return { size: compiled.programSize(), matches: (text) => compiled.matcher(text).find() };
}
