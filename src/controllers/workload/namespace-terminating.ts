// A refusal that needs no second try: the namespace is going away, and its content with it.
import { isStatusError } from '../../apimachinery/errors.ts';

export const isNamespaceTerminating = (error: unknown): boolean =>
  isStatusError(error, 'Forbidden') &&
  (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating');
