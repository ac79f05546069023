// What is on its way into a namespace: costs that a server let through and has not stored yet, as all servers see them.
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { Usage } from './quota-usage.ts';

export interface Reservation {
  readonly id: string;
  readonly resource: ResourceRef;
  readonly name: string;
  /** Of an update: the version of the object that it replaces. */
  readonly replaces: string | undefined;
  /** Of an update: what it adds to the usage of that one. */
  readonly usage: Usage;
  /** What scopes look at of a pod. */
  readonly shape: Pod | undefined;
}

/** All of a namespace, as of one state of its record. */
export interface Reserved {
  readonly all: readonly Reservation[];
  readonly state: unknown;
}

export interface Reservations {
  /** As it is in the store, with all objects that were stored before: what neither holds is not there. */
  read(namespace: string): Promise<Reserved>;
  /** What stands in its place, as far as this server knows, is not yet what it writes, and may become it. */
  awaitsWrite(namespace: string, reservation: Reservation): boolean;
  /** False: another server wrote since `reserved`. What is not in `all` is forgotten. */
  write(namespace: string, reserved: Reserved, all: readonly Reservation[]): Promise<boolean>;
  /** Stored, or not at all: it is on its way no more. */
  end(namespace: string, id: string): void;
}
