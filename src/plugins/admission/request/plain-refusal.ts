// A refusal that is no Forbidden: what upstream's plugins return as a plain error, which its server answers with 500 and no reason.
import { StatusError } from '../../../apimachinery/errors.ts';

export const plainRefusal = (message: string): StatusError => new StatusError(500, '', message);
