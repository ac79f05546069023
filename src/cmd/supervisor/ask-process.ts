// Asks a supervised process whether it works, over a connection of its own, and believes any certificate, as a kubelet does.
import { readFileSync } from 'node:fs';
import { type ClientRequest, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import type { LivenessCheck, PortCheck } from './liveness.ts';

/** Rejects when nobody answers. */
export async function askProcess(check: LivenessCheck, signal: AbortSignal): Promise<boolean> {
  return 'socket' in check ? askSocket(check.socket, signal) : askPort(check, signal);
}

/** The kernel takes the connection also for a process that stands still: only what comes back counts. */
function askSocket(path: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const asked = connect({ path, signal });
    asked.on('error', reject);
    asked.on('data', () => resolve(true));
    asked.on('close', () => reject(new Error(`${path}: no answer`)));
    asked.end();
  });
}

function portOf({ port }: PortCheck): number {
  return typeof port === 'number' ? port : Number(readFileSync(port.file, 'utf8'));
}

const refusals: readonly unknown[] = [401, 403];

const isGood = ({ anyAnswer, mayRefuse }: PortCheck, status: number | undefined): boolean =>
  anyAnswer === true || status === 200 || (mayRefuse === true && refusals.includes(status));

async function askPort(check: PortCheck, signal: AbortSignal): Promise<boolean> {
  const port = portOf(check);
  return new Promise((resolve, reject) => {
    const request = check.plain === true ? plainRequest : tlsRequest;
    const asked: ClientRequest = request(
      {
        host: check.host,
        port,
        path: check.path,
        agent: false,
        // The machine's authorities are megabytes, and nobody is believed by them here.
        ca: [],
        rejectUnauthorized: false,
        signal,
      },
      (response) => {
        response.on('error', () => undefined); // its head was the answer
        response.resume();
        resolve(isGood(check, response.statusCode));
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}
