// Why a pattern is no regular expression: one that is none would silently check nothing.
import { compilePattern } from '../../base/regular-expression.ts';

export function patternError(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
