// The part of the OCI runtime specification that the handler reads and writes; everything else passes through.

/** containerd's: which sandbox a container belongs to. */
export const sandboxIdAnnotation = 'io.kubernetes.cri.sandbox-id';

export interface OciMount {
  readonly destination: string;
  readonly type?: string;
  readonly source?: string;
  readonly options?: readonly string[];
}

export interface OciCapabilities {
  readonly bounding?: readonly string[];
  readonly effective?: readonly string[];
  readonly inheritable?: readonly string[];
  readonly permitted?: readonly string[];
  readonly ambient?: readonly string[];
}

export interface OciProcess {
  readonly terminal?: boolean;
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    readonly umask?: number;
    readonly username?: string;
  };
  readonly args?: readonly string[];
  readonly env?: readonly string[];
  readonly cwd?: string;
  readonly capabilities?: OciCapabilities;
  readonly noNewPrivileges?: boolean;
}

export interface OciNamespace {
  readonly type: string;
  readonly path?: string;
}

export interface OciIdMapping {
  readonly containerID: number;
  readonly hostID: number;
  readonly size: number;
}

/** One of them: what no rule's names and arguments fit gets the filter's default. */
export interface OciSeccompRule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args?: readonly {
    readonly index: number;
    readonly value: number;
    readonly valueTwo?: number;
    readonly op: string;
  }[];
}

/** Rules of system calls, as libseccomp takes them. */
export interface OciSeccomp {
  readonly defaultAction: string;
  readonly syscalls?: readonly OciSeccompRule[];
}

export interface OciSpec {
  readonly process?: OciProcess;
  readonly root?: { readonly path: string; readonly readonly?: boolean };
  readonly hostname?: string;
  readonly mounts?: readonly OciMount[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly linux?: {
    readonly namespaces?: readonly OciNamespace[];
    readonly rootfsPropagation?: string;
    readonly uidMappings?: readonly OciIdMapping[];
    readonly gidMappings?: readonly OciIdMapping[];
    readonly maskedPaths?: readonly string[];
    readonly readonlyPaths?: readonly string[];
    readonly seccomp?: OciSeccomp;
    readonly devices?: readonly unknown[];
    readonly sysctl?: Readonly<Record<string, string>>;
  };
}
