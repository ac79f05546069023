// Go's regular expressions (RE2 syntax, linear time), for patterns that clients give.
import { RE2JS } from 're2js';

export interface Pattern {
  /** Steps that one character of a text may take. */
  readonly size: number;
  /** True when some part of the text matches. */
  matches(text: string): boolean;
  /** The parts that match, first to last, none of them in another; at most so many. */
  find(text: string, most: number): string[];
}

/** Throws Error for what is no pattern. */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source);
  return {
    size: compiled.programSize(),
    matches: (text) => compiled.matcher(text).find(),
    find: (text, most) => {
      const found: string[] = [];
      const matcher = compiled.matcher(text);
      while (found.length < most && matcher.find()) found.push(matcher.group() ?? '');
      return found;
    },
  };
}
