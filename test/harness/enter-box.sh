#!/bin/sh
# First process of a test box: private /run, a private memory of the runtime's CNI library, loopback up, then the command.
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /var/lib/cni
mount -t tmpfs tmpfs /var/lib/cni
ip link set lo up
exec "$@"
