// The answers to patches that cannot be applied, as kube-apiserver's patch handler gives them.
import type { Json } from '../declaration.ts';
import { badRequest, StatusError } from '../errors.ts';

const hidden = 'the server rejected our request due to an error in our request';

/** 422 without a word on what is wrong: the patch handler hides the cause. Policies and webhooks say it: `why`. */
export class InapplicablePatchError extends StatusError {
  readonly why: string;

  constructor(why = '') {
    super(422, 'Invalid', hidden, {});
    this.why = why;
  }
}

/** The same, for who has to know it: a `test` of the patch does not hold. */
export class FailedTestError extends InapplicablePatchError {
  constructor(path: string) {
    super(`testing value ${path} failed: test failed`);
  }
}

export const tooLarge = (message: string): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`);

/** An error that upstream does not classify becomes a bare 500 with its text. */
export const unclassified = (message: string): StatusError => new StatusError(500, '', message);

/** As Go's decoder, which would otherwise recurse without end. */
const maxDepth = 1_000;

/** Throws 400 when `value` is nested deeper than the engines are willing to follow. */
export function assertShallow(value: Json | undefined): void {
  let level: (Json | undefined)[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw badRequest('json: exceeded max depth');
    const next: (Json | undefined)[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      const children = Array.isArray(item) ? item : Object.values(item);
      for (const child of children) if (typeof child === 'object' && child !== null) next.push(child);
    }
    level = next;
  }
}
