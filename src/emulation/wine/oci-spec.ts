// The part of the OCI runtime specification that the handler reads and writes; everything else passes through.

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
  readonly user?: { readonly uid: number; readonly gid: number; readonly username?: string };
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

export interface OciSpec {
  readonly process?: OciProcess;
  readonly root?: { readonly path: string; readonly readonly?: boolean };
  readonly hostname?: string;
  readonly mounts?: readonly OciMount[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly linux?: {
    readonly namespaces?: readonly OciNamespace[];
    readonly rootfsPropagation?: string;
  };
}
