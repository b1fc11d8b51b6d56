"""Real parts for tests, started and stopped on one machine without containers.

Input:   package registries through uv, Maven, Go and apt-get; root, to run the cluster as another user.
Output:  Postgres, an S3 gateway and a proxy before it that breaks connections, a Spark cluster with a
         Spark Connect server, and `parts.env` to find them.
Folders: a permanent cache folder, and a run folder that `down` removes.

    python3 -m dev.parts tools                  install what the parts need and the machine lacks
    python3 -m dev.parts jars [GROUP...]        resolve jars and check them against spark/jars.lock
    python3 -m dev.parts jars --lock [GROUP...] resolve them again and write spark/jars.lock
    python3 -m dev.parts up [PART...]           start all parts, or some: spark connect postgres s3 toxiproxy
    python3 -m dev.parts status                 show the state of each part
    python3 -m dev.parts down                   stop everything and remove the run folder
"""
