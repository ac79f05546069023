// JSON as Go's encoder writes it, which keeps it out of the way of HTML.
import { isWorthIndenting } from './indentation.ts';

/** Of a text that is JSON, or a piece of one. */
export const htmlSafe = (json: string): string =>
  json.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** `indent`: spaces of each level, for people; what would be little else than spaces stays in one line. */
export const htmlSafeJson = (value: unknown, indent?: number): string =>
  htmlSafe(
    JSON.stringify(value, undefined, indent !== undefined && isWorthIndenting(value) ? indent : undefined),
  );
