// The pods that this node's network knows: one small file for each, written before the pod gets its address.
import { parseIp } from '../../base/ip.ts';
import type { Files } from '../../os/files.ts';
import { containerIDPattern, type PortMapping } from './cni-request.ts';

export interface Attachment {
  readonly containerID: string;
  readonly ifname: string;
  readonly network: string;
  readonly netns: string;
  readonly podIP: string;
  readonly hostInterface: string;
  readonly portMappings: readonly PortMapping[];
}

export interface AttachmentStore {
  load(): Promise<{ readonly attachments: readonly Attachment[]; readonly broken: readonly string[] }>;
  put(attachment: Attachment): Promise<void>;
  remove(attachment: Pick<Attachment, 'containerID' | 'ifname'>): Promise<void>;
}

export const attachmentKey = (of: { readonly containerID: string; readonly ifname: string }): string =>
  `${of.containerID}@${of.ifname}`;

function parse(text: string): Attachment | undefined {
  let value: Partial<Attachment>;
  try {
    value = JSON.parse(text) as Partial<Attachment>;
  } catch {
    return undefined; // half written: its ADD was never answered
  }
  const { containerID, ifname, network, netns, podIP, hostInterface, portMappings } = value;
  const whole =
    typeof containerID === 'string' &&
    containerIDPattern.test(containerID) &&
    typeof ifname === 'string' &&
    typeof network === 'string' &&
    typeof netns === 'string' &&
    typeof podIP === 'string' &&
    parseIp(podIP)?.family === 4 &&
    typeof hostInterface === 'string' &&
    Array.isArray(portMappings);
  return whole ? { containerID, ifname, network, netns, podIP, hostInterface, portMappings } : undefined;
}

const maxRecordBytes = 1 << 20;

export function createAttachmentStore(files: Files, folder: string): AttachmentStore {
  const path = (of: Pick<Attachment, 'containerID' | 'ifname'>): string =>
    `${folder}/${attachmentKey(of)}.json`;
  return {
    load: async () => {
      await files.makeDirectory(folder, 0o700);
      const attachments: Attachment[] = [];
      const broken: string[] = [];
      for (const name of await files.list(folder)) {
        const data = await files.readIfThere(`${folder}/${name}`, { maxBytes: maxRecordBytes });
        const attachment = name.endsWith('.json') ? parse(data?.toString() ?? '') : undefined;
        if (attachment !== undefined && name === `${attachmentKey(attachment)}.json`)
          attachments.push(attachment);
        else broken.push(name);
      }
      for (const name of broken) await files.remove(`${folder}/${name}`);
      return { attachments, broken };
    },
    put: async (attachment) => {
      const target = path(attachment);
      // a namespace does not outlive a crash of the machine, so neither need its record: no fsync
      await files.write(`${target}.new`, `${JSON.stringify(attachment)}\n`, { mode: 0o600 });
      await files.rename(`${target}.new`, target);
    },
    remove: (of) => files.remove(path(of)),
  };
}
