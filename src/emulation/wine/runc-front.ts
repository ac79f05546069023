// The program that containerd's shim calls instead of runc: a small POSIX script that hands most calls on at once. Pure text.
import { maxExitCodeBytes } from './exit-code.ts';
import { mountPlanFile } from './wine-bundle.ts';

export interface FrontOptions {
  readonly runc: string;
  readonly node: string;
  /** The bundled handler-main. */
  readonly handlerMain: string;
  readonly configFile: string;
  readonly stateDir: string;
  /** The compiled windows-mounts. */
  readonly mountsProgram: string;
}

/** One word for the shell, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Of runc's arguments: the command, its last one or two, and where log, root, bundle or process are. */
const readArguments = `command= log= root= subject= last= before= want=
for argument do
  case $want in
    log) log=$argument; want=; continue ;;
    root) root=$argument; want=; continue ;;
    skip) want=; continue ;;
    subject) subject=$argument; want=; last=$argument; continue ;;
  esac
  if [ -z "$command" ]; then
    case $argument in
      --log) want=log ;;
      --root) want=root ;;
      --log-format|--criu|--rootless) want=skip ;;
      -*) ;;
      *) command=$argument ;;
    esac
    continue
  fi
  case $command:$argument in
    create:--bundle|create:-b|exec:--process|exec:-p) want=subject ;;
  esac
  before=$last
  last=$argument
done`;

/**
 * `create` and `exec` are rewritten by Node first. `kill TERM` becomes CTRL_SHUTDOWN_EVENT, as Windows ends a container.
 * Every other call, and every container that is not a Windows program's (a pod's sandbox), is runc's alone.
 */
export function runcFront(options: FrontOptions): string {
  return `#!/bin/sh
# Runs Windows containers under Wine: stands between containerd's shim and runc.
runc=${quoted(options.runc)}
node=${quoted(options.node)}
main=${quoted(options.handlerMain)}
config=${quoted(options.configFile)}
state=${quoted(options.stateDir)}
mounts=${quoted(options.mountsProgram)}

${readArguments}

case $command in
  create)
    grep -qF '"io.kubernetes.cri.container-type":"container"' "$subject/config.json" || exec "$runc" "$@"
    "$node" "$main" "$config" create "$subject" "$last" "$log" || exit 1
    exec "$mounts" "$subject/${mountPlanFile}" "$runc" "$@"
    ;;
  exec)
    case $last in */*) exec "$runc" "$@" ;; esac
    [ -e "$state/containers/$last" ] && [ -n "$subject" ] || exec "$runc" "$@"
    "$node" "$main" "$config" exec "$subject" "$last" "$log" || exit 1
    exec "$mounts" "$state/entries/$last" "$runc" "$@"
    ;;
  kill)
    case $last in 15|TERM|SIGTERM) ;; *) exec "$runc" "$@" ;; esac
    case $before in */*) exec "$runc" "$@" ;; esac
    [ -e "$state/containers/$before" ] || exec "$runc" "$@"
    # User, rights and environment are those of the container's own process. The shim waits for none of it: a program of the
    # pod may stop all others, and SIGKILL, at the end of the grace period, would have to wait, too. It ends with the container.
    {
      "$mounts" "$state/entries/$before" "$runc" \${root:+--root "$root"} exec --cwd / --env PORTHOLE_CWD=/ "$before" \\
        /.porthole/confine /usr/lib/wine/wine64 '\\\\?\\unix\\.porthole\\ctrl.exe' 6 || exec "$runc" "$@"
    } </dev/null >/dev/null 2>&1 &
    exit 0
    ;;
  delete)
    case $last in
      */*) ;;
      *)
        rm -f "$state/containers/$last" "$state/entries/$last"
        # Its programs could write what they liked there: a code and no more stays, until the container is removed.
        [ ! -e "$state/exit-codes/$last" ] || truncate --size='<${maxExitCodeBytes}' "$state/exit-codes/$last"
        if [ -e "$state/pods/$last" ]; then
          # The sandbox goes: its user is free.
          read -r user <"$state/pods/$last" && rm -f "$state/users/$user" "$state/pods/$last"
        fi
        ;;
    esac
    ;;
esac
exec "$runc" "$@"
`;
}
