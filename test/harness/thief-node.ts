// A control plane with two nodes: one whose credentials somebody stole, and its victim.
import assert from 'node:assert/strict';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';

type Ask = (method: string, url: string, body?: unknown) => Promise<Answer>;

export interface ThiefPlane {
  readonly plane: TestControlPlane;
  readonly asThief: Ask;
  /** UID of the thief's Node. */
  readonly uid: string;
}

export const uidOf = ({ body }: Answer): string => (body['metadata'] as { uid: string }).uid;

/** As `system:node:<name>`. */
export const asNode =
  (plane: TestControlPlane, name: string): Ask =>
  (method, url, body) =>
    plane.ask(method, url, body, { user: user(`system:node:${name}`, 'system:nodes') });

export async function startThiefPlane(): Promise<ThiefPlane> {
  const plane = await startTestControlPlane();
  const asThief = asNode(plane, 'thief');
  const own = await asThief('POST', '/api/v1/nodes', { metadata: { name: 'thief' } });
  assert.equal(own.status, 201, own.text);
  const victim = await plane.ask('POST', '/api/v1/nodes', { metadata: { name: 'victim' } });
  assert.equal(victim.status, 201, victim.text);
  return { plane, asThief, uid: uidOf(own) };
}
