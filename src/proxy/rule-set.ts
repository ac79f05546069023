// What the node's packet filter should do for Services, as data: made by desired-rules, realised by a backend.

export type Protocol = 'tcp' | 'udp' | 'sctp';

export interface Backend {
  readonly ip: string;
  readonly port: number;
  /** On this node. */
  readonly local: boolean;
}

export interface Frontend {
  /** Undefined: every address of the node (a node port). */
  readonly ip: string | undefined;
  readonly protocol: Protocol;
  readonly port: number;
  /** `cluster` keeps the address of pods; `external` hides every source; `local` keeps that of clients outside. */
  readonly source: 'cluster' | 'external' | 'local';
  readonly backends: readonly Backend[];
  /** For `local`: what pods and the node itself are sent to. */
  readonly insideBackends: readonly Backend[];
  /** When there are no backends: nobody anywhere, or just none on this node. */
  readonly without: 'reject' | 'drop';
  /** 0: none. */
  readonly affinitySeconds: number;
  /** Undefined: everyone. */
  readonly allowedSources: readonly string[] | undefined;
  /** The service's own address: other ports of it are refused. */
  readonly isClusterIP: boolean;
  /** Stable name of the service port. */
  readonly portName: string;
}

export interface ServiceRules {
  /** namespace/name */
  readonly service: string;
  readonly frontends: readonly Frontend[];
  /** There would be more than a node holds for one Service: the last ones are missing. */
  readonly isCut?: true;
}

export const frontendKey = (f: Pick<Frontend, 'ip' | 'protocol' | 'port'>): string =>
  f.ip === undefined ? `${f.protocol} . ${f.port}` : `${f.ip} . ${f.protocol} . ${f.port}`;

/** What a frontend costs a node. */
export const elementCount = ({ backends, insideBackends, allowedSources: sources }: Frontend): number =>
  1 + backends.length + insideBackends.length + (sources?.length ?? 0);
