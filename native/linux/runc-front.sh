#!/bin/sh
# Stands between containerd's shim and runc for Windows containers, as a file of a handler's state folder.
# `create` and `exec` are rewritten by Node first. `kill TERM` becomes CTRL_SHUTDOWN_EVENT, as Windows ends a container.
# Every other call, and every container that is not a Windows program's (a pod's sandbox), is runc's alone.
state=${0%/*}

while IFS= read -r line; do
  case $line in
    runc=*) runc=${line#*=} ;;
    node=*) node=${line#*=} ;;
    main=*) main=${line#*=} ;;
    config=*) config=${line#*=} ;;
    mounts=*) mounts=${line#*=} ;;
    plan=*) plan=${line#*=} ;;
    confine=*) confine=${line#*=} ;;
    wine=*) wine=${line#*=} ;;
    ctrl=*) ctrl=${line#*=} ;;
    codebytes=*) codebytes=${line#*=} ;;
  esac
done <"$state/front-settings" || exit 1

# Of runc's arguments: the command, its last one or two, and where log, root, bundle or process are.
command= log= root= subject= last= before= want=
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
done

case $command in
  create)
    grep -qF '"io.kubernetes.cri.container-type":"container"' "$subject/config.json" || exec "$runc" "$@"
    "$node" "$main" "$config" create "$subject" "$last" "$log" || exit 1
    exec "$mounts" "$subject/$plan" "$runc" "$@"
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
      "$mounts" "$state/entries/$before" "$runc" ${root:+--root "$root"} exec --cwd / --env PORTHOLE_CWD=/ "$before" \
        "$confine" "$wine" "$ctrl" 6 || exec "$runc" "$@"
    } </dev/null >/dev/null 2>&1 &
    exit 0
    ;;
  delete)
    case $last in
      */*) ;;
      *)
        rm -f "$state/containers/$last" "$state/entries/$last"
        # Its programs could write what they liked there: a code and no more stays, until the container is removed.
        [ ! -e "$state/exit-codes/$last" ] || truncate --size="<$codebytes" "$state/exit-codes/$last"
        if [ -e "$state/pods/$last" ]; then
          # The sandbox goes: its user is free.
          read -r user <"$state/pods/$last" && rm -f "$state/users/$user" "$state/pods/$last"
        fi
        ;;
    esac
    ;;
esac
exec "$runc" "$@"
