// Go's regular expressions (RE2 syntax, linear time), for patterns that clients give.
import { RE2JS } from 're2js';

export interface Pattern {
  /** True when some part of the text matches. */
  matches(text: string): boolean;
}

/** Throws Error for what is no pattern. */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source);
  return { matches: (text) => compiled.matcher(text).find() };
}
