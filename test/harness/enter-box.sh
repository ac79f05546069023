#!/bin/sh
# First process of a test box: private /run and /tmp, loopback up, then the command.
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock
ip link set lo up
exec "$@"
