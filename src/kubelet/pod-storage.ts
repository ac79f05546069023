// The files of a pod that are no volumes: log folders, hosts file, termination messages.
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { Host } from '../os/host.ts';
import { podNamespace, podUid } from './pod-format.ts';
import { releasePodPins } from './volumes/pins.ts';

export interface KubeletPaths {
  /** Pods' folders lie below: upstream's /var/lib/kubelet. */
  readonly root: string;
  /** Upstream's /var/log/pods. */
  readonly logs: string;
}

export interface PodStorage {
  podDir(uid: string): string;
  logDirectory(pod: Pod): string;
  prepare(pod: Pod): Promise<void>;
  /** Host path of the file. */
  writeHosts(pod: Pod, text: string): Promise<string>;
  nodeHosts(): Promise<string>;
  /** An empty file for one run of a container; its host path. */
  createTerminationLog(uid: string, container: string, attempt: number): Promise<string>;
  readTerminationLog(uid: string, container: string, attempt: number): Promise<string | undefined>;
  prepareContainerLog(pod: Pod, container: string): Promise<void>;
  readLogTail(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Everything of the pod; mounts that are left are taken down first. */
  remove(uid: string): Promise<void>;
  removeLogs(pod: Pod): Promise<void>;
  /** The same of a pod of which nothing but the uid is known. */
  removeLogsOf(uid: string): Promise<void>;
  /** Uids of pods that have folders, if only of logs. */
  pods(): Promise<readonly string[]>;
}

/** Upstream: MaxContainerTerminationMessageLength. */
const maxTerminationMessageBytes = 4096;

const isUid = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text);

/** Of `<namespace>_<name>_<uid>`: neither of the first two can hold the sign. '' of anything else. */
const uidOfLogs = (name: string): string => name.split('_')[2] ?? '';

export function createPodStorage(
  host: Pick<Host, 'files' | 'mounts' | 'beneath'>,
  paths: KubeletPaths,
): PodStorage {
  const { files } = host;
  const podDir = (uid: string): string => {
    if (!isUid(uid)) throw new Error(`${JSON.stringify(uid)} is not a pod's uid`);
    return `${paths.root}/pods/${uid}`;
  };
  const terminationLog = (uid: string, container: string, attempt: number): string =>
    `${podDir(uid)}/containers/${container}/${attempt}`;
  const logDirectory = (pod: Pod): string =>
    `${paths.logs}/${podNamespace(pod)}_${pod.metadata.name}_${podUid(pod)}`;
  return {
    podDir,
    logDirectory,
    prepare: async (pod) => {
      await files.makeDirectory(podDir(podUid(pod)), 0o750);
      await files.makeDirectory(`${podDir(podUid(pod))}/volumes`, 0o750);
      await files.makeDirectory(logDirectory(pod), 0o755);
    },
    writeHosts: async (pod, text) => {
      const path = `${podDir(podUid(pod))}/etc-hosts`;
      await files.write(path, text, { mode: 0o644 });
      return path;
    },
    nodeHosts: async () => (await files.readIfThere('/etc/hosts'))?.toString() ?? '',
    createTerminationLog: async (uid, container, attempt) => {
      const path = terminationLog(uid, container, attempt);
      await files.makeDirectory(path.slice(0, path.lastIndexOf('/')), 0o755);
      // World-writable, as upstream: the program may run as anybody.
      await files.write(path, '', { mode: 0o666 });
      return path;
    },
    readTerminationLog: async (uid, container, attempt) => {
      const path = terminationLog(uid, container, attempt);
      return (await files.readHead(path, maxTerminationMessageBytes))?.toString('utf8');
    },
    prepareContainerLog: (pod, container) => files.makeDirectory(`${logDirectory(pod)}/${container}`, 0o755),
    readLogTail: async (path, maxBytes) => {
      const info = await files.stat(path);
      if (info?.kind !== 'file') return undefined;
      await using file = await files.open(path);
      return await file.readAt(Math.max(info.sizeBytes - maxBytes, 0), maxBytes);
    },
    remove: async (uid) => {
      const { beneath } = host;
      if (beneath) await releasePodPins({ files, beneath }, podDir(uid));
      await host.mounts.unmountAllBelow(podDir(uid));
      // Not by names: a program of the pod could still be changing what they lead to.
      await (beneath?.remove ?? files.remove)(podDir(uid));
    },
    removeLogs: (pod) => files.remove(logDirectory(pod)),
    removeLogsOf: async (uid) => {
      for (const name of await files.list(paths.logs))
        if (uidOfLogs(name) === uid) await files.remove(`${paths.logs}/${name}`);
    },
    pods: async () => {
      const logs = (await files.list(paths.logs)).map(uidOfLogs);
      return [...new Set([...(await files.list(`${paths.root}/pods`)), ...logs])].filter(isUid);
    },
  };
}
