// One kind of volume: how it comes to be a folder or file of the node.
import type { Pod, Volume } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { Beneath, Place } from '../../os/beneath.ts';
import type { FileKind, Files } from '../../os/files.ts';
import type { Mounts } from '../../os/mounts.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import type { ObjectSource } from '../runtime/env-vars.ts';
import type { FieldContext } from '../runtime/field-ref.ts';
import { badPayloadPath } from './atomic-writer.ts';

/** Where a volume's content is. */
export interface VolumeLocation extends Place {
  /** What was found there and must still be there when it is mounted. */
  readonly kind?: FileKind | undefined;
  /** True: no link in it is followed, for `subPath` either. */
  readonly linkFree?: boolean;
}

export const ownFolder = (dir: string): VolumeLocation => ({ base: dir, path: '' });

export interface VolumeContext {
  readonly pod: Pod;
  readonly volume: Volume;
  /** The volume's own folder below the pod's; the plugin creates it. */
  readonly dir: string;
  readonly files: Files;
  readonly beneath: Beneath;
  readonly mounts: Mounts;
  readonly objects: ObjectSource;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly nodeOs: NodeOs;
  readonly fields: FieldContext;
  readonly token: (audience: string, expirationSeconds: number) => Promise<string>;
}

export interface VolumePlugin {
  /** `kubernetes.io/empty-dir`. */
  readonly name: string;
  supports(volume: Volume): boolean;
  /** Idempotent; answers what is to be mounted. Throws Error with upstream's text. */
  setUp(context: VolumeContext): Promise<VolumeLocation>;
  /** True when its content follows objects and is written again on change. */
  readonly refreshes: boolean;
  /** Pods may write into it. */
  readonly writable: boolean;
}

/** Who owns the files of a volume that the kubelet writes. */
export function fsGroupOf({ nodeOs, pod }: Pick<VolumeContext, 'nodeOs' | 'pod'>): number | undefined {
  const group = pod.spec.securityContext?.fsGroup;
  return nodeOs.hasFileModes && group !== undefined ? Number(group) : undefined;
}

/** The mode of such a file: with fsGroup the group can read what the owner can. */
export function fileMode(context: Pick<VolumeContext, 'nodeOs' | 'pod'>, mode: number): number {
  if (!context.nodeOs.hasFileModes) return 0o644;
  return fsGroupOf(context) === undefined ? mode : mode | ((mode & 0o400) >> 3);
}

/** Throws Error when a volume of this node can't hold a file of this path. */
export function checkFilePath({ nodeOs }: Pick<VolumeContext, 'nodeOs'>, path: string): void {
  const bad = badPayloadPath(path) ?? nodeOs.badFileName(path);
  if (bad !== undefined) throw new Error(bad);
}
