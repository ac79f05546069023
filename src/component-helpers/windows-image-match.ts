// Which Windows images a Windows node can run: the rule of HCS, containerd and the scheduler in one place.

/** How a container is kept apart from its host; a HostProcess container is a job on the host itself. */
export type WindowsIsolation = 'process' | 'hyperv' | 'host-process';

/** A Windows version a node can be, as the registry, the node status and `winver` name it. */
export interface WindowsVersion {
  readonly build: number;
  /** Update build revision: the fourth number of the kernel version. */
  readonly revision: number;
  /** `ProductName` of the registry, a node's `osImage`. */
  readonly productName: string;
  /** `major.minor.build.revision`: a node's `kernelVersion`. */
  readonly kernelVersion: string;
  /** `DisplayVersion` of the registry. */
  readonly displayVersion: string;
  /** `ReleaseId` of the registry: it stayed at 2009 when DisplayVersion came. */
  readonly releaseId: string;
  /** The tag that Microsoft's base images carry for it. */
  readonly imageTag: string;
}

const version = (
  build: number,
  revision: number,
  productName: string,
  displayVersion: string,
  releaseId: string,
  imageTag: string,
): WindowsVersion => ({
  build,
  revision,
  productName,
  kernelVersion: `10.0.${build}.${revision}`,
  displayVersion,
  releaseId,
  imageTag,
});

/** The server releases that containers still run on, oldest first. */
export const windowsVersions: readonly WindowsVersion[] = [
  version(17763, 8146, 'Windows Server 2019 Datacenter', '1809', '1809', 'ltsc2019'),
  version(20348, 4405, 'Windows Server 2022 Datacenter', '21H2', '2009', 'ltsc2022'),
  version(25398, 1965, 'Windows Server Datacenter', '23H2', '2009', '23h2'),
  version(26100, 6899, 'Windows Server 2025 Datacenter', '24H2', '2009', 'ltsc2025'),
];

export const windowsVersionOf = (build: number): WindowsVersion | undefined =>
  windowsVersions.find((known) => known.build === build);

/** The value of the node label `node.kubernetes.io/windows-build`. */
export const windowsBuildLabel = (build: number): string => `10.0.${build}`;

export interface OsVersion {
  readonly major: number;
  readonly minor: number;
  readonly build: number;
  readonly revision: number;
}

/** Reads `10.0.20348` or `10.0.20348.2113`; undefined when it is neither. */
export function parseOsVersion(text: string): OsVersion | undefined {
  const match = /^(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (!match) return undefined;
  return {
    major: Number(match[1]),
    minor: Number(match[2]),
    build: Number(match[3]),
    revision: Number(match[4] ?? 0),
  };
}

/** From this build on a host also runs older images, down to the long-term release before it. */
const stableAbiBuild = 20348;

/** The oldest and newest image build that a host runs. */
function acceptedBuilds(
  hostBuild: number,
  isolation: WindowsIsolation,
): { readonly oldest: number; readonly newest: number } {
  if (isolation === 'host-process') return { oldest: 0, newest: Number.POSITIVE_INFINITY };
  if (isolation === 'hyperv') return { oldest: 0, newest: hostBuild };
  return hostBuild < stableAbiBuild
    ? { oldest: hostBuild, newest: hostBuild }
    : { oldest: stableAbiBuild, newest: hostBuild };
}

/** What the Host Compute Service answers, HRESULT 0xc0370101. */
const hcsImageMismatch = 'The container operating system does not match the host operating system.';
export type WindowsImageMatch = { readonly fits: true } | { readonly fits: false; readonly reason: string };

/** The known hosts that run an image of this version, as `10.0.20348 (Windows Server 2022 Datacenter)`. */
export function hostsThatFit(imageOsVersion: string, isolation: WindowsIsolation): readonly string[] {
  const fitting = windowsVersions.filter((host) => fits(host.build, imageOsVersion, isolation));
  return fitting.map((host) => `10.0.${host.build} (${host.productName})`);
}

function fits(hostBuild: number, imageOsVersion: string, isolation: WindowsIsolation): boolean {
  if (imageOsVersion === '' || isolation === 'host-process') return true;
  const image = parseOsVersion(imageOsVersion);
  if (image?.major !== 10 || image.minor !== 0) return false;
  const { oldest, newest } = acceptedBuilds(hostBuild, isolation);
  return oldest <= image.build && image.build <= newest;
}

/** Whether a host of this build runs an image with this `os.version`. An image that names none runs anywhere. */
export function matchWindowsImage(
  hostBuild: number,
  imageOsVersion: string | undefined,
  isolation: WindowsIsolation = 'process',
): WindowsImageMatch {
  const osVersion = imageOsVersion?.trim() ?? '';
  if (fits(hostBuild, osVersion, isolation)) return { fits: true };
  return { fits: false, reason: mismatchReason(hostBuild, osVersion, isolation) };
}

function mismatchReason(hostBuild: number, osVersion: string, isolation: WindowsIsolation): string {
  const host = `host ${windowsBuildLabel(hostBuild)}`;
  if (!parseOsVersion(osVersion)) {
    return `${hcsImageMismatch} (0xc0370101) The image's os.version "${osVersion}" is no Windows version; ${host}.`;
  }
  const hosts = hostsThatFit(osVersion, isolation);
  const would =
    hosts.length === 0
      ? 'No known Windows Server release runs it.'
      : `It runs on a node with windows-build ${hosts.join(' or ')}.`;
  const isolated =
    isolation === 'process' && matchWindowsImage(hostBuild, osVersion, 'hyperv').fits
      ? ' On this node it would need Hyper-V isolation.'
      : '';
  return `${hcsImageMismatch} (0xc0370101) Image ${osVersion}, ${host}. ${would}${isolated}`;
}

/** The platform of an entry in an image index. */
export interface ImagePlatform {
  readonly os: string;
  readonly architecture: string;
  readonly osVersion?: string;
  readonly variant?: string;
}

const newestFirst = (a: OsVersion | undefined, b: OsVersion | undefined): number =>
  (b?.build ?? -1) - (a?.build ?? -1) || (b?.revision ?? -1) - (a?.revision ?? -1);

/** The entries of an index that a Windows host runs, best first: the newest build, then the newest revision. */
export function fittingWindowsEntries<Entry extends { readonly platform: ImagePlatform }>(
  entries: readonly Entry[],
  host: { readonly build: number; readonly architecture: string },
  isolation: WindowsIsolation = 'process',
): readonly Entry[] {
  return entries
    .filter(
      ({ platform }) =>
        platform.os === 'windows' &&
        platform.architecture === host.architecture &&
        matchWindowsImage(host.build, platform.osVersion, isolation).fits,
    )
    .sort((a, b) =>
      newestFirst(parseOsVersion(a.platform.osVersion ?? ''), parseOsVersion(b.platform.osVersion ?? '')),
    );
}
