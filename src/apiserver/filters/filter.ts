// The shape of a filter: it wraps what comes after it.
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';

export type Next = (context: RequestContext) => Promise<ApiResponse>;
export type Filter = (next: Next) => Next;
