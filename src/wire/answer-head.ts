// What a server may say before its answer, as Go's net/http bounds it: node:http takes informational answers without end.
import type { ClientRequest } from 'node:http';

/** Go's max1xxResponses. */
export const maxInformational = 5;

export const tooManyInformational = (): Error => new Error('net/http: too many 1xx informational responses');
export const tooLongHead = (maxBytes: number): Error =>
  new Error(`net/http: server response headers exceeded ${maxBytes} bytes; aborted`);

/** The request fails with Go's text when its server goes on without answering. */
export function refuseManyInformational(request: ClientRequest): void {
  let seen = 0;
  request.on('information', () => {
    if (++seen > maxInformational) request.destroy(tooManyInformational());
  });
}

/** The same for what is no answer at all, such as empty lines: bytes that come before the answer's head is whole. */
export function boundHead(request: ClientRequest, maxBytes: number): void {
  refuseManyInformational(request);
  let left = maxBytes;
  request.on('socket', (socket) => {
    const count = (data: Buffer): void => {
      left -= data.length;
      if (left < 0) request.destroy(tooLongHead(maxBytes));
    };
    const answered = (): void => void socket.off('data', count);
    socket.on('data', count);
    request.once('response', answered);
    request.once('upgrade', answered);
  });
}
