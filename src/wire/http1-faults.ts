// What Go's server answers an HTTP/1 request before anybody looks at it, because nobody could read it as it was meant.
import type { HttpHeaders, HttpResponse } from './http-message.ts';
import type { RequestHead } from './http1-parser.ts';

const told = (status: number, text: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from(text),
});
const unknownCoding = told(501, 'Unsupported transfer encoding');
const unknownExpectation = told(417, 'Expectation Failed');
const badRequest = told(400, '400 Bad Request');
const unknownVersion = told(505, '505 HTTP Version Not Supported: unsupported protocol version');
const noHost = told(400, '400 Bad Request: missing required Host header');
const malformedHost = told(400, '400 Bad Request: malformed Host header');

/** As Go's ValidHostHeader: of a name, an address, a port. */
const hostText = /^[\w!$%&()*+,.:;='[\]~-]*$/;

/** Who is before us may have gone by another of two hosts than we. */
function hostFault(
  { rawHeaders, isHttp10 }: RequestHead,
  host: string | undefined,
): HttpResponse | undefined {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count++;
  if (count > 1) return badRequest;
  if (host === undefined) return isHttp10 ? undefined : noHost;
  return hostText.test(host) ? undefined : malformedHost;
}

/**
 * HTTP/1.0 knows no Transfer-Encoding. As Go: the request has no body. What follows it on the connection may be one for
 * somebody before us and a request for somebody else, so nobody looks at it.
 */
export const hasFaultyFraming = (head: RequestHead, headers: HttpHeaders): boolean =>
  head.isHttp10 && headers['transfer-encoding'] !== undefined;

const continueToken = /(?:^|[ ,\t])100-continue(?:$|[ ,\t])/i;

/** As Go looks for it: in what may be a list, or said twice. */
export const expectsContinue = ({ expect }: HttpHeaders): boolean =>
  expect !== undefined && continueToken.test(expect as string);

/** undefined: somebody else answers it. */
export function faultOf(head: RequestHead, headers: HttpHeaders): HttpResponse | undefined {
  const { host, expect, 'transfer-encoding': coding } = headers as Record<string, string | undefined>;
  if (head.method === undefined) return badRequest;
  if (head.majorVersion !== 1) return unknownVersion;
  const fault = hostFault(head, host);
  if (fault) return fault;
  // A body in another coding than chunks would be read as if it were plain.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked' && !head.isHttp10) return unknownCoding;
  return !expect || expectsContinue(headers) ? undefined : unknownExpectation;
}
