// Asks grpc.health.v1.Health/Check for a probe.
import { Client, credentials, status } from '@grpc/grpc-js';

/** HealthCheckRequest { string service = 1 }. */
function request(service: string): Buffer {
  const name = Buffer.from(service);
  if (name.length === 0) return Buffer.alloc(0);
  const length = name.length < 128 ? [name.length] : [(name.length & 127) | 128, name.length >> 7];
  return Buffer.concat([Buffer.from([0x0a, ...length]), name]);
}

/** HealthCheckResponse { ServingStatus status = 1 }; SERVING is 1. */
const isServing = (bytes: Buffer): boolean => bytes.length >= 2 && bytes[0] === 0x08 && bytes[1] === 1;

/** Undefined: it serves; else upstream's text. Never throws. */
export function probeGrpcHealth(
  address: string,
  service: string,
  timeoutMs: number,
): Promise<string | undefined> {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
  return new Promise((resolve) => {
    const end = (text: string | undefined): void => {
      client.close();
      resolve(text);
    };
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      (value: string) => request(value),
      (bytes: Buffer) => bytes,
      service,
      { deadline: new Date(performance.timeOrigin + performance.now() + timeoutMs) },
      (error, bytes) => {
        if (!error)
          return end(
            bytes && isServing(bytes) ? undefined : 'service unhealthy (responded with "NOT_SERVING")',
          );
        if (error.code === status.UNIMPLEMENTED) {
          return end(
            `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`,
          );
        }
        if (error.code === status.DEADLINE_EXCEEDED) {
          return end(`timeout: health rpc did not complete within ${timeoutMs / 1000}s`);
        }
        return end(`error: health rpc probe failed: ${error.message}`);
      },
    );
  });
}
