# What the tests need of others: environments, brokers, client libraries, images. `.ci/run` makes all of it, as much at
# once as make is told: each waits for downloads, or works on one core.
CLIENTS := rabbitmq-java qpid-jms pika amqplib lapin amqp091-go rabbitmq-c proton-python rhea go-amqp
IMAGES := $(addprefix rabbitmq-of-,sid trixie bookworm)
AUTHORITIES := /etc/ssl/certs/ca-certificates.crt

.PHONY: all environments maven clients base suite $(IMAGES)

all: environments suite clients $(IMAGES)

environments:
	@$(MAKE) --no-print-directory .venv/.ready .venv-plain/.ready

# One after the other: they share what Maven keeps, and it does not promise to bear two at once.
maven:
	ci/brokers/fetch broker-j
	ci/brokers/fetch artemis
	ci/brokers/fetch activemq

# Those whose rules every change is tried on; the others of ci/clients are for releases.
clients: maven
	ci/brokers/build-proton
	ci/clients/fetch $(CLIENTS)

base:
	ci/build-base-image bookworm

suite: base
	ci/build-suite-image amqp-conformance/base:bookworm --quiet --network host \
	  --build-arg PIP_CERT=$(AUTHORITIES) $(if $(PIP_INDEX_URL),--build-arg PIP_INDEX_URL=$(PIP_INDEX_URL))

$(IMAGES): rabbitmq-of-%:
	ci/brokers/build-image $*
