// What volumes are made of, as pods and PersistentVolumes name it: what each source must say.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { named, oneOf, optional } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import type { Volume } from '../../generated/types/core-v1.ts';
import { noBacksteps } from './volume-paths.ts';

/** The rules of some sources, in the order in which upstream looks for them: the first that is there is the volume's. */
export type SourceRules<Sources> = {
  readonly [Kind in keyof Sources]?: (field: string, source: Decoded<NonNullable<Sources[Kind]>>) => Errors;
};

/** Upstream tells of some sources under other names: those of `forbidden` where it is one too many, or of its own faults. */
interface OtherNames {
  readonly tooMany?: string;
  readonly own?: string;
}
const otherNames: Readonly<Record<string, OtherNames>> = {
  gcePersistentDisk: { own: 'persistentDisk' },
  cephfs: { tooMany: 'cephFS' },
  downwardAPI: { tooMany: 'downwarAPI' },
};

/** There must be one source and no other; the others' faults are not told. */
export function oneSource<Sources extends object>(
  at: string,
  given: Decoded<Sources>,
  rules: SourceRules<Sources>,
): Errors {
  const kinds = Object.keys(rules).filter((kind) => given[kind as keyof typeof given] !== undefined);
  const [kind, ...extra] = kinds;
  if (kind === undefined) return [required(at, 'must specify a volume type')];
  const source = given[kind as keyof typeof given];
  return [
    ...(rules[kind as keyof Sources]?.(`${at}.${otherNames[kind]?.own ?? kind}`, source as never) ?? []),
    ...extra.map((other) =>
      forbidden(`${at}.${otherNames[other]?.tooMany ?? other}`, 'may not specify more than 1 volume type'),
    ),
  ];
}

export const given = (field: string, value: string | undefined): Errors => (value ? [] : [required(field)]);
const listed = (field: string, value: readonly unknown[] | undefined): Errors =>
  (value ?? []).length > 0 ? [] : [required(field)];

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const inAByte = 'must be between 0 and 255, inclusive';
const isByte = (value = 0): boolean => value >= 0 && value <= 255;

const partitionErrors = (field: string, partition: number | undefined): Errors =>
  isByte(partition)
    ? []
    : // 0 is taken as well: it stands for none.
      [invalid(`${field}.partition`, partition, 'must be between 1 and 255, inclusive')];

/** Names of iSCSI have at most 223 bytes; beyond this bound none is looked at. */
const maxIscsiName = 1024;
const iscsiForms: readonly (readonly [prefix: string, form: RegExp])[] = [
  ['iqn', /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/],
  ['eui', /^eui.[A-Za-z0-9]{16}$/],
  ['naa', /^naa.[A-Za-z0-9]{32}$/],
];

/** `unknown`: what is told of a name that begins as none does. */
function iscsiNameErrors(field: string, name: string, unknown: string): Errors {
  const known = iscsiForms.find(([prefix]) => name.startsWith(prefix));
  if (known === undefined) return [invalid(field, name, unknown)];
  const right = name.length <= maxIscsiName && known[1].test(name);
  return right ? [] : [invalid(field, name, 'must be valid format')];
}

export interface Iscsi {
  readonly targetPortal?: string | undefined;
  readonly iqn?: string | undefined;
  readonly lun?: number | undefined;
  readonly chapAuthDiscovery?: boolean | undefined;
  readonly chapAuthSession?: boolean | undefined;
  readonly secretRef?: object | undefined;
  readonly initiatorName?: string | undefined;
}

/** `unknown`: what is told of a name that begins as none does, which pods and PersistentVolumes say differently. */
export const iscsiErrors = (field: string, iscsi: Iscsi, unknown: string): Errors => [
  ...given(`${field}.targetPortal`, iscsi.targetPortal),
  ...(iscsi.iqn ? iscsiNameErrors(`${field}.iqn`, iscsi.iqn, unknown) : [required(`${field}.iqn`)]),
  ...(isByte(iscsi.lun) ? [] : [invalid(`${field}.lun`, iscsi.lun, inAByte)]),
  ...((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && iscsi.secretRef === undefined
    ? [required(`${field}.secretRef`)]
    : []),
  ...(iscsi.initiatorName === undefined
    ? []
    : iscsiNameErrors(`${field}.initiatorname`, iscsi.initiatorName, unknown)),
];

/** With an initiator the volume's name and its portal make one name together, which has its bounds. */
export const isIscsiNameLong = ({ initiatorName, targetPortal = '' }: Iscsi, volume: string): boolean =>
  initiatorName !== undefined && Buffer.byteLength(`${volume}:${targetPortal}`) > 64;
export const iscsiNameLong =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

/** As Go's net.SplitHostPort takes it. */
const hostAndPort = /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/;
const hostsAndPorts = 'must be a host:port pair or multiple pairs separated by commas';

function quobyteErrors(
  field: string,
  { registry = '', tenant = '', volume }: Decoded<NonNullable<Volume['quobyte']>>,
): Errors {
  const errors: Errors = [];
  if (registry === '') errors.push(required(`${field}.registry`, hostsAndPorts));
  else if (Buffer.byteLength(tenant) > 64)
    errors.push(required(`${field}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'));
  else if (registry.split(',').some((pair) => !hostAndPort.test(pair)))
    errors.push(invalid(`${field}.registry`, registry, hostsAndPorts));
  return [...errors, ...given(`${field}.volume`, volume)];
}

const cachingModes = ['None', 'ReadOnly', 'ReadWrite'];
const diskKinds = ['Dedicated', 'Managed', 'Shared'];
const managedDisks =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const blobDisks = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

function azureDiskErrors(field: string, disk: Decoded<NonNullable<Volume['azureDisk']>>): Errors {
  const { diskName, diskURI = '', cachingMode, kind } = disk;
  const errors = [...given(`${field}.diskName`, diskName), ...given(`${field}.diskURI`, diskURI)];
  if (cachingMode !== undefined) errors.push(...oneOf(`${field}.cachingMode`, cachingMode, cachingModes));
  if (kind === undefined) return errors;
  errors.push(...oneOf(`${field}.kind`, kind, diskKinds));
  const [prefix, form] = kind === 'Managed' ? ['/subscriptions/', managedDisks] : ['https://', blobDisks];
  if (!diskURI.startsWith(prefix!)) errors.push(notSupported(`${field}.diskURI`, diskURI, [form!]));
  return errors;
}

function flockerErrors(
  field: string,
  { datasetName = '', datasetUUID = '' }: Decoded<NonNullable<Volume['flocker']>>,
): Errors {
  const errors: Errors = [];
  if (datasetName === '' && datasetUUID === '')
    errors.push(required(field, 'one of datasetName and datasetUUID is required'));
  if (datasetName !== '' && datasetUUID !== '')
    errors.push(
      invalid(field, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'),
    );
  if (datasetName.includes('/'))
    errors.push(invalid(`${field}.datasetName`, datasetName, "must not contain '/'"));
  return errors;
}

function fcErrors(field: string, fc: Decoded<NonNullable<Volume['fc']>>): Errors {
  const { targetWWNs = [], wwids = [], lun } = fc;
  const errors: Errors = [];
  if (targetWWNs.length === 0 && wwids.length === 0)
    errors.push(required(`${field}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both'));
  if (targetWWNs.length > 0 && wwids.length > 0)
    errors.push(
      invalid(`${field}.targetWWNs`, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'),
    );
  if (targetWWNs.length > 0) {
    if (lun === undefined)
      errors.push(required(`${field}.lun`, 'lun is required if targetWWNs is specified'));
    else if (!isByte(lun)) errors.push(invalid(`${field}.lun`, lun, inAByte));
  }
  return errors;
}

function flexErrors(
  field: string,
  { driver, options = {} }: Pick<Decoded<NonNullable<Volume['flexVolume']>>, 'driver' | 'options'>,
): Errors {
  const reserved = Object.keys(options).filter((key) =>
    /\.(?:kubernetes|k8s)\.io$/.test(`.${key.split('/', 1)[0]!.toLowerCase()}`),
  );
  return [
    ...given(`${field}.driver`, driver),
    ...reserved.map((key) =>
      invalid(`${field}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'),
    ),
  ];
}

/** A secret beside the volume: its name, and where it lies if that must be said. */
export const secretErrors = (
  field: string,
  secret: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined,
  where: 'of the pod' | 'of any namespace',
): Errors =>
  secret === undefined
    ? []
    : [
        ...given(`${field}.secretRef.name`, secret.name),
        ...(where === 'of any namespace' ? given(`${field}.secretRef.namespace`, secret.namespace) : []),
      ];

export const storageosErrors = (
  field: string,
  source: { readonly volumeName?: string | undefined; readonly volumeNamespace?: string | undefined },
): Errors => [
  ...named(`${field}.volumeName`, source.volumeName, dnsLabel),
  ...optional(`${field}.volumeNamespace`, source.volumeNamespace, dnsLabel),
];

type Shared =
  | 'awsElasticBlockStore'
  | 'azureDisk'
  | 'azureFile'
  | 'cephfs'
  | 'cinder'
  | 'fc'
  | 'flexVolume'
  | 'flocker'
  | 'gcePersistentDisk'
  | 'glusterfs'
  | 'hostPath'
  | 'nfs'
  | 'photonPersistentDisk'
  | 'portworxVolume'
  | 'quobyte'
  | 'rbd'
  | 'scaleIO'
  | 'vsphereVolume';

/** Those that a pod and a PersistentVolume say in the same way. */
export const sharedSources: Required<Pick<SourceRules<Volume>, Shared>> = {
  hostPath(field, { path = '', type = '' }) {
    if (path === '') return [required(`${field}.path`)];
    return [...noBacksteps(`${field}.path`, path), ...oneOf(`${field}.type`, type, hostPathTypes)];
  },
  gcePersistentDisk: (field, { pdName, partition }) => [
    ...given(`${field}.pdName`, pdName),
    ...partitionErrors(field, partition),
  ],
  awsElasticBlockStore: (field, { volumeID, partition }) => [
    ...given(`${field}.volumeID`, volumeID),
    ...partitionErrors(field, partition),
  ],
  nfs: (field, { server, path = '' }) => [
    ...given(`${field}.server`, server),
    ...given(`${field}.path`, path),
    ...(path.startsWith('/') ? [] : [invalid(`${field}.path`, path, 'must be an absolute path')]),
  ],
  glusterfs: (field, { endpoints, path }) => [
    ...given(`${field}.endpoints`, endpoints),
    ...given(`${field}.path`, path),
  ],
  flocker: flockerErrors,
  rbd: (field, { monitors, image }) => [
    ...listed(`${field}.monitors`, monitors),
    ...given(`${field}.image`, image),
  ],
  quobyte: quobyteErrors,
  cephfs: (field, { monitors }) => listed(`${field}.monitors`, monitors),
  cinder: (field, { volumeID }) => given(`${field}.volumeID`, volumeID),
  fc: fcErrors,
  flexVolume: flexErrors,
  azureFile: (field, { secretName, shareName }) => [
    ...given(`${field}.secretName`, secretName),
    ...given(`${field}.shareName`, shareName),
  ],
  vsphereVolume: (field, { volumePath }) => given(`${field}.volumePath`, volumePath),
  photonPersistentDisk: (field, { pdID }) => given(`${field}.pdID`, pdID),
  portworxVolume: (field, { volumeID }) => given(`${field}.volumeID`, volumeID),
  azureDisk: azureDiskErrors,
  scaleIO: (field, { gateway, system, volumeName }) => [
    ...given(`${field}.gateway`, gateway),
    ...given(`${field}.system`, system),
    ...given(`${field}.volumeName`, volumeName),
  ],
};
