// projected: ConfigMaps, Secrets, fields, service-account tokens and trust bundles in one folder.
import type { VolumeProjection } from '../../../api/generated/types/core-v1.ts';
import { podNamespace } from '../../pod-format.ts';
import { type FileToWrite, writeAtomically } from '../atomic-writer.ts';
import { downwardFiles } from '../downward-files.ts';
import { filesOfKeys, type KeysInput } from '../key-to-path.ts';
import { configMapData, secretData } from '../object-data.ts';
import {
  checkFilePath,
  fsGroupOf,
  ownFolder,
  type VolumeContext,
  type VolumePlugin,
} from '../volume-plugin.ts';

interface KeySource {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly items?: KeysInput['items'];
}

function keyed(
  context: VolumeContext,
  source: KeySource,
  data: ReadonlyMap<string, Uint8Array> | undefined,
  input: { readonly kind: string; readonly defaultMode: number },
): Map<string, FileToWrite> {
  if (!data && source.optional !== true) throw new Error(`${input.kind} "${source.name ?? ''}" not found`);
  if (!data) return new Map();
  return filesOfKeys(context, {
    data,
    items: source.items,
    defaultMode: input.defaultMode,
    optional: source.optional === true,
  });
}

/** Without fsGroup a token is its one user's alone. */
function tokenFile(context: VolumeContext, token: string, defaultMode: number): FileToWrite {
  const data = Buffer.from(token);
  if (!context.nodeOs.hasFileModes) return { data, mode: 0o644 };
  const { pod } = context;
  if (fsGroupOf(context) !== undefined) return { data, mode: 0o600 | 0o040 };
  const users = new Set(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
      (c) => c.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser,
    ),
  );
  const [user] = users;
  if (users.size === 1 && user !== undefined) return { data, mode: 0o600, uid: Number(user) };
  return { data, mode: defaultMode };
}

async function filesOf(
  context: VolumeContext,
  source: VolumeProjection,
  defaultMode: number,
): Promise<Map<string, FileToWrite>> {
  const namespace = podNamespace(context.pod);
  if (source.configMap) {
    const object = await context.objects.configMap(namespace, source.configMap.name ?? '');
    return keyed(context, source.configMap, object && configMapData(object), {
      kind: 'configmap',
      defaultMode,
    });
  }
  if (source.secret) {
    const object = await context.objects.secret(namespace, source.secret.name ?? '');
    return keyed(context, source.secret, object && secretData(object), { kind: 'secret', defaultMode });
  }
  if (source.downwardAPI) return downwardFiles(context, source.downwardAPI.items ?? [], defaultMode);
  if (source.serviceAccountToken) {
    const { path, audience, expirationSeconds } = source.serviceAccountToken;
    checkFilePath(context, path);
    const token = await context.token(audience ?? '', Number(expirationSeconds ?? 3600));
    return new Map([[path, tokenFile(context, token, defaultMode)]]);
  }
  throw new Error('this node serves configMap, secret, downwardAPI and serviceAccountToken projections only');
}

export const projected: VolumePlugin = {
  name: 'kubernetes.io/projected',
  supports: (volume) => volume.projected !== undefined,
  refreshes: true,
  writable: false,
  setUp: async (context) => {
    const source = context.volume.projected!;
    const payload = new Map<string, FileToWrite>();
    for (const each of source.sources ?? []) {
      for (const [path, file] of await filesOf(context, each, source.defaultMode ?? 0o644)) {
        payload.set(path, file);
      }
    }
    await context.files.makeDirectory(context.dir, 0o755);
    if (context.nodeOs.hasMemoryVolumes && !(await context.mounts.hasOwnFileSystem(context.dir))) {
      await context.mounts.tmpfs(context.dir);
    }
    await writeAtomically(context, context.dir, payload, fsGroupOf(context));
    return ownFolder(context.dir);
  },
};
