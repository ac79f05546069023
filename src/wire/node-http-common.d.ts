// Node's own HTTP parser (llhttp), as its `node:http` uses it. Not of Node's public interface: the pinned Node has it so, and http1-parser.test.ts says when it has not.
declare module 'node:_http_common' {
  export const methods: readonly string[];
  export class HTTPParser {
    static readonly REQUEST: number;
    static readonly RESPONSE: number;
    static readonly kLenientNone: number;
    static readonly kOnMessageBegin: number;
    static readonly kOnHeaders: number;
    static readonly kOnHeadersComplete: number;
    static readonly kOnBody: number;
    static readonly kOnMessageComplete: number;
    /** What it tells, by the numbers above. */
    [callback: number]: unknown;
    initialize(type: number, resource: object, maxHeaderBytes: number, lenient: number): void;
    /** How many bytes were read: fewer than given behind a request that asks for another protocol. */
    execute(bytes: Uint8Array): number | Error;
    finish(): Error | undefined;
    close(): void;
  }
}
