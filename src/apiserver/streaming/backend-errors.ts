// Turns what a kubelet answers into what the API server answers: upstream's GenericHttpResponseChecker.
import { badRequest, internalError, StatusError } from '../../apimachinery/errors.ts';
import { BackendError, readTextOf } from '../../wire/backend.ts';
import { type ApiResponse, isPullBody } from '../http.ts';

/** As upstream: error texts are read up to here. */
const maxErrorBytes = 50_000;

export interface About {
  readonly resource: string;
  readonly name: string;
}

export async function checkedAnswer(response: ApiResponse, about: About): Promise<ApiResponse> {
  if (response.status >= 200 && response.status <= 206) return response;
  throw await refusalOf(response, about);
}

async function textOf({ body }: ApiResponse): Promise<string> {
  if (body === undefined) return '';
  if (isPullBody(body)) return readTextOf(body, maxErrorBytes);
  return Buffer.isBuffer(body) ? body.toString() : Buffer.concat(body).toString();
}

/** A kubelet that does not switch protocols, as upstream's translator tells it. */
export async function notUpgraded(response: ApiResponse): Promise<StatusError> {
  return internalError(new Error(`unable to upgrade connection: ${(await textOf(response)).trim()}`));
}

async function refusalOf(response: ApiResponse, about: About): Promise<StatusError> {
  const { status } = response;
  const text = await textOf(response);
  if (status === 400) return badRequest(text);
  if (status === 500) return internalError(new Error(text));
  const suffix = `( ${about.resource} ${about.name})`;
  if (status === 404)
    return new StatusError(404, 'NotFound', `the server could not find the requested resource ${suffix}`, {
      name: about.name,
      kind: about.resource,
    });
  return new StatusError(
    status,
    status >= 500 ? 'InternalError' : 'Unknown',
    status >= 500
      ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding ${suffix}`
      : `the server responded with the status code ${status} but did not return more information ${suffix}`,
    { name: about.name, kind: about.resource },
  );
}

/** 500 for a kubelet that can't be reached, in the words of upstream's dialer. */
export function unreachable(error: unknown): StatusError {
  const text = error instanceof BackendError ? error.message : String(error);
  return new StatusError(500, 'InternalError', `error dialing backend: ${text}`);
}
